#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# headers.sh GUSSET_H FOLDER: writes one wrong gusset.h per folder below
# FOLDER, each by one edit of the true header. An edit that changes nothing
# is an error: the header was reworded and the edit must follow.
set -eu
true_header=$1
folder=$2

# wrong NAME SED_SCRIPT
wrong() {
    mkdir -p "$folder/$1"
    sed -e "$2" "$true_header" >"$folder/$1/gusset.h"
    if cmp -s "$true_header" "$folder/$1/gusset.h"; then
        echo "headers.sh: the edit of $1 changes nothing" >&2
        exit 1
    fi
}

# The good control.
mkdir -p "$folder/true"
cp "$true_header" "$folder/true/gusset.h"

# What the compiler of a library or host would see.
wrong swapped '/^    uint32_t flags;/{h;d}
/^    uint32_t reserved;/G'
wrong signed-line 's/^    uint32_t line;/    int32_t line;/'
wrong unsigned-code 's/^    int32_t code;/    uint32_t code;/'
wrong const-msg 's/^    uint8_t \*msg;/    const uint8_t *msg;/'
wrong plain-file 's/^    const uint8_t \*file;/    uint8_t *file;/'
wrong integer-msg 's/^    uint8_t \*msg;/    uint64_t msg;/'
wrong packed 's/^} FfiStatus;/} __attribute__((packed)) FfiStatus;/'
wrong renamed 's/^    uint64_t timeout_ns;/    uint64_t deadline_ns;/'
wrong grown 's/^    uint32_t aligns\[4\];/&\n    uint32_t fields;/'
wrong words 's/^    uint8_t span_id\[8\];/    uint32_t span_id[2];/'
wrong constant 's/\(GUSSET_MAX_INLINE_INPUT\) 4096/\1 4095/'

# What does not compile, or not everywhere.
wrong signal-clash 's/^    uint32_t line;/    uint32_t si_addr;/'
wrong unix-clash 's/(uint32_t drain_ms)/(uint32_t linux)/'
wrong keyword 's/(uint32_t pool_size, /(uint32_t new, /'
wrong no-guard '/^#ifndef GUSSET_H/d
/^#define GUSSET_H/d
/^#endif .* GUSSET_H/d'
wrong c99-warning 's/^typedef struct GussetRing GussetRing;/&\n&/'
wrong no-include '/^#include <std/d'
wrong no-extern-c 's/^extern "C" {/namespace gusset {/'
wrong widened 's/(uint32_t pool_size, /(uint64_t pool_size, /'
wrong dropped-const 's/const CallHeader \*header,/CallHeader *header,/'
wrong lost-parameter 's/(uint32_t drain_ms)/(void)/'
