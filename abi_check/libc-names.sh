#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# Writes abi_check/libc-names or abi_check/compiler-names to standard output,
# from the C libraries and compiler support libraries of this machine.
#
#   libc-names.sh libc       functions of glibc (libc, libm) and musl, with the
#                            malloc family of newer standards
#   libc-names.sh compiler   libgcc, libgcc_eh, compiler-rt builtins, crt files
#
# CC (cc), CLANG (clang), NM (nm) name the tools, MUSL_LIBC the libc.so of musl.
set -eu
LC_ALL=C
export LC_ALL
CC=${CC:-cc}
MUSL_LIBC=${MUSL_LIBC:-/usr/lib/$(uname -m)-linux-musl/libc.so}
CLANG=${CLANG:-clang}
NM=${NM:-nm}

die() {
    echo "libc-names.sh: $*" >&2
    exit 1
}

# file_of COMPILER NAME: the path of a file of that compiler's library folders.
file_of() {
    found=$("$1" -print-file-name="$2") || die "cannot run $1"
    [ -f "$found" ] || die "$1 has no $2"
    echo "$found"
}

# Functions in a dynamic symbol table: default versions only, no private ones.
dynamic_functions() {
    "$NM" -D --defined-only "$1" |
        awk '$2 ~ /^[TWi]$/ && $3 !~ /[^@]@[^@]/ && $3 !~ /GLIBC_PRIVATE/ {
            sub(/@.*/, "", $3); print $3 }'
}

archive_globals() {
    "$NM" -g --defined-only "$1" 2>/dev/null |
        awk 'NF == 3 { print $3 }'
}

compiler_names() {
    for name in libgcc.a libgcc_eh.a crti.o crtn.o crtbegin.o crtbeginS.o \
        crtbeginT.o crtend.o crtendS.o crt1.o; do
        archive_globals "$(file_of "$CC" "$name")"
    done
    builtins=$("$CLANG" -rtlib=compiler-rt -print-libgcc-file-name) ||
        die "cannot run $CLANG"
    [ -f "$builtins" ] || die "$CLANG has no compiler-rt builtins"
    archive_globals "$builtins"
}

compiler_file() {
    names=$(compiler_names | grep -v -x main | sort -u)
    echo "# Compiler support routines: listed when found, never failed."
    echo "# Written by libc-names.sh compiler from gcc" \
        "$("$CC" -dumpfullversion) and clang" \
        "$("$CLANG" -dumpversion) on $(uname -m)."
    echo "# Names beginning with __rust are support routines too."
    echo "$names"
}

libc_file() {
    glibc=$(file_of "$CC" libc.so.6)
    musl=$MUSL_LIBC
    [ -f "$musl" ] || die "no musl at $musl: install musl-dev"
    glibc_version=$("$glibc" | sed -n '1s/.*version \([0-9.]*[0-9]\).*/\1/p')
    musl_version=$("$musl" 2>&1 | sed -n 's/^Version //p')
    [ -n "$glibc_version" ] || die "$glibc does not tell its version"
    [ -n "$musl_version" ] || die "$musl does not tell its version"
    names=$({
        dynamic_functions "$glibc"
        dynamic_functions "$(file_of "$CC" libm.so.6)"
        dynamic_functions "$musl"
        printf '%s\n' malloc calloc realloc free memalign aligned_alloc \
            posix_memalign valloc pvalloc cfree reallocarray \
            malloc_usable_size free_sized free_aligned_sized
    } | sort -u)
    support=$(mktemp)
    trap 'rm -f "$support"' EXIT
    compiler_names | sort -u >"$support"
    echo "# Functions that belong to the C library: an artifact that defines"
    echo "# one of them changes the whole process [i6.no-foreign-symbols]."
    echo "# Written by libc-names.sh libc from glibc $glibc_version and" \
        "musl $musl_version on $(uname -m)."
    echo "$names" | comm -23 - "$support"
}

case ${1:-} in
libc) libc_file ;;
compiler) compiler_file ;;
*) die "usage: libc-names.sh libc|compiler" ;;
esac
