#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# Builds and installs the Gusset runtime from a checkout or an unpacked tarball,
# then compiles and runs a five-line program through pkg-config to prove it.
#
# usage: ./install.sh [--prefix DIR]
#   --prefix DIR  where to install; default /usr/local when it is writable, else
#                 ~/.local
# exit: 0 installed and proved · 1 failed, with one line that says why · 2 usage
set -u

die() {
    echo "install.sh: $1" >&2
    exit 1
}

prefix=
while [ $# -gt 0 ]; do
    case $1 in
    --prefix)
        [ $# -ge 2 ] || { echo "install.sh: --prefix needs a directory" >&2; exit 2; }
        prefix=$2
        shift 2
        ;;
    --prefix=*) prefix=${1#--prefix=}; shift ;;
    -h | --help)
        sed -n '3,9s/^# \{0,1\}//p' "$0"
        exit 0
        ;;
    *) echo "install.sh: unknown argument '$1' (try --help)" >&2; exit 2 ;;
    esac
done

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd) || die "cannot find its own directory"
[ -f "$here/runtime/include/gusset.h" ] ||
    die "$here is not a complete source tree (runtime/include/gusset.h is missing)"
if [ -z "$prefix" ]; then
    if [ -w /usr/local ]; then prefix=/usr/local; else prefix=$HOME/.local; fi
fi
case $prefix in
/*) ;;
*) die "the prefix must be an absolute path, not '$prefix'" ;;
esac
mkdir -p "$prefix" 2>/dev/null || die "cannot make $prefix (choose another with --prefix)"
[ -w "$prefix" ] || die "no rights to write $prefix (choose another with --prefix)"
for tool in make cc ar; do
    command -v "$tool" >/dev/null 2>&1 ||
        die "needs $tool (on Debian: apt-get install gcc make libc6-dev)"
done
pkg_config=$(command -v pkg-config || command -v pkgconf) ||
    die "needs pkg-config (on Debian: apt-get install pkg-config)"

scratch=$(mktemp -d) || die "cannot make a temporary directory"
trap 'rm -rf "$scratch"' EXIT
make -C "$here" BUILD="$scratch/build" PREFIX="$prefix" install >"$scratch/log" 2>&1 || {
    tail -n 20 "$scratch/log" | sed 's/^/| /' >&2
    die "the build failed"
}

cat >"$scratch/prove.c" <<'C'
#include <gusset.h>
#include <stdio.h>
int main(void) {
    AbiLayout layout; gusset_abi_layout(&layout);
    return printf("gusset ABI version %u\n", (unsigned)layout.version) < 0 || layout.version != GUSSET_ABI_VERSION;
}
C
PKG_CONFIG_PATH=$prefix/lib/pkgconfig${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}
export PKG_CONFIG_PATH
flags=$("$pkg_config" --cflags --libs gusset) || die "pkg-config does not find the installed gusset.pc"
# shellcheck disable=SC2086 # flags are words
cc -o "$scratch/prove" "$scratch/prove.c" $flags || die "a five-line program does not build against the installed library"
LD_LIBRARY_PATH=$prefix/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} "$scratch/prove" >"$scratch/proof" ||
    die "a five-line program does not run against the installed library"

echo "installed under $prefix and proved ($(cat "$scratch/proof")):"
echo "  include/gusset.h include/gusset_engine.h"
echo "  lib/libgusset.a lib/libgusset.so* lib/pkgconfig/gusset.pc"
echo "  lib/libgusset.claims.json"
echo "use it:  PKG_CONFIG_PATH=$prefix/lib/pkgconfig pkg-config --cflags --libs gusset"
echo "undo it: make -C $here PREFIX=$prefix uninstall"
