#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# inputs.sh FOLDER: makes the wrong artifacts, and the good controls, that
# abi-check-bad feeds to each check. Runs in the root of the project, after
# headers.sh has filled FOLDER/headers. CC, AR, STRIP, OBJCOPY name the tools.
set -eu
out=$1
here=abi_check/bad
CC=${CC:-cc}
AR=${AR:-ar}
STRIP=${STRIP:-strip}
OBJCOPY=${OBJCOPY:-objcopy}
flags="-std=c11 -Wall -Wextra -Wpedantic -Werror -O1 -g -fPIC -fno-builtin"
is_clang=$("$CC" --version | grep -c clang) || true
[ "$is_clang" != 0 ] || flags="$flags -Wno-builtin-declaration-mismatch"

# object NAME SOURCE [FLAG...]: FOLDER/NAME.o
object() {
    name=$1
    source=$2
    shift 2
    # shellcheck disable=SC2086
    "$CC" $flags "-ffile-prefix-map=$PWD=." "$@" -Iruntime/include \
        -c -o "$out/$name.o" "$here/$source"
}

# shared NAME OBJECT...: FOLDER/NAME.so
shared() {
    name=$1
    shift
    "$CC" -shared -Wl,--version-script="$here/specimen.map" \
        -o "$out/$name.so" "$@"
}

# archive NAME OBJECT...: FOLDER/NAME.a
archive() {
    name=$1
    shift
    rm -f "$out/$name.a"
    "$AR" rcs "$out/$name.a" "$@"
}

# raw_archive NAME FILE...: the same without an index, for members that ar
# itself cannot read.
raw_archive() {
    name=$1
    shift
    rm -f "$out/$name.a"
    "$AR" rcS "$out/$name.a" "$@" >"$out/$name.ar" 2>&1
}

both() {
    shared "$@"
    archive "$@"
}

# patched NAME FROM BYTE VALUE: FOLDER/NAME.o, one byte of FROM.o replaced.
patched() {
    cp "$out/$2.o" "$out/$1.o"
    # shellcheck disable=SC2059
    printf "$4" | dd of="$out/$1.o" bs=1 seek="$3" conv=notrunc 2>/dev/null
}

hidden='__attribute__((visibility("hidden")))'
object good specimen.c
object no_take specimen.c -DTAKE=elsewhere
object took specimen.c -DTAKE=gusset_took
object weak_take specimen.c '-DTAKE_AS=__attribute__((weak))'
object hidden_take specimen.c "-DTAKE_AS=$hidden"
object protected_take specimen.c \
    '-DTAKE_AS=__attribute__((visibility("protected")))'
object eighteenth eighteenth.c
object data_take data_take.c
object old_take old_take.c
object own_malloc own_malloc.c
object own_memcpy own_memcpy.c
object hidden_memcpy own_memcpy.c "-DMEMCPY_AS=$hidden"
object weak_memcpy own_memcpy.c '-DMEMCPY_AS=__attribute__((weak))'
object neighbours neighbours.c
object no_names no_names.c -g0
"$STRIP" --strip-all "$out/no_names.o"

both good "$out/good.o"
both eighteenth "$out/good.o" "$out/eighteenth.o"
both missing "$out/no_take.o"
both swapped_name "$out/took.o"
both weak_take "$out/weak_take.o"
both data_take "$out/no_take.o" "$out/data_take.o"
both hidden_take "$out/hidden_take.o"
both protected_take "$out/protected_take.o"
shared two_versions "$out/good.o" "$out/old_take.o"
shared old_version "$out/no_take.o" "$out/old_take.o"
archive twice "$out/good.o" "$out/weak_take.o"
both own_malloc "$out/good.o" "$out/own_malloc.o"
both own_memcpy "$out/good.o" "$out/own_memcpy.o"
both hidden_memcpy "$out/good.o" "$out/hidden_memcpy.o"
both weak_memcpy "$out/good.o" "$out/weak_memcpy.o"
printf 'BC\300\3365\024\000\000' >"$out/bitcode.o"
# Bitcode beside machine code: an LTO plugin of nm stumbles over it.
"$OBJCOPY" --add-section .llvmbc="$out/bitcode.o" "$out/good.o" \
    "$out/beside_bitcode.o" >"$out/beside_bitcode.objcopy"
raw_archive beside_bitcode "$out/beside_bitcode.o"
archive no_names "$out/good.o" "$out/no_names.o"
archive only_no_names "$out/no_names.o"
both neighbours "$out/good.o" "$out/neighbours.o"

# Debug information that differs from the contract.
for wrong in swapped signed-line unsigned-code const-msg plain-file \
    integer-msg packed renamed grown; do
    object "dwarf-$wrong" specimen.c "-I$out/headers/$wrong"
    both "dwarf-$wrong" "$out/dwarf-$wrong.o"
done
# The second unit is wrong: a check that stops at the first sees nothing.
archive dwarf-second-unit "$out/good.o" "$out/dwarf-swapped.o"
object dwarf-4 specimen.c -gdwarf-4
both dwarf-4 "$out/dwarf-4.o"
cp "$out/good.so" "$out/stripped.so"
"$STRIP" "$out/stripped.so"
object no_debug specimen.c -g0
archive no_debug "$out/no_debug.o"
object other_structs eighteenth.c
shared other_structs "$out/no_debug.o" "$out/other_structs.o"
head -c 64 /dev/zero >"$out/zeros"
"$OBJCOPY" --update-section .debug_info="$out/zeros" "$out/good.so" \
    "$out/broken_debug.so"

# How an artifact may be linked, and must not.
linked() { # NAME FLAGS OBJECT...
    name=$1 how=$2
    shift 2
    # shellcheck disable=SC2086
    "$CC" -shared -Wl,--version-script="$here/specimen.map" \
        -Wl,-z,relro,-z,now,-z,noexecstack $how -o "$out/$name.so" \
        "$out/good.o" "$out/calls.o" "$@"
}
object calls calls.c
object static_tls static_tls.c
object text_relocation text_relocation.c
object common_name common_name.c
printf '.section .note.GNU-stack,"x",%%progbits\n' >"$out/exec_stack.s"
"$CC" -c -o "$out/exec_stack.o" "$out/exec_stack.s"
linked hardened ''
linked exec_stack -Wl,-z,execstack
linked lazy -Wl,-z,lazy
linked no_relro -Wl,-z,norelro
linked text_relocation -Wl,-z,notext "$out/text_relocation.o" \
    2>"$out/text_relocation.ld"
linked static_tls '' "$out/static_tls.o"
linked extra_needed -Wl,--no-as-needed -lm
archive hardened "$out/good.o" "$out/calls.o"
archive exec_stack "$out/good.o" "$out/exec_stack.o"
archive common_name "$out/no_take.o" "$out/common_name.o"

# What is no artifact, or not a whole one.
printf '!<arch>\n' >"$out/empty.a"
printf 'Neither an ELF file nor an archive.\n' >"$out/text.so"
: >"$out/nothing.so"
head -c "$(($(wc -c <"$out/good.so") / 2))" "$out/good.so" >"$out/cut.so"
head -c "$(($(wc -c <"$out/good.a") / 2))" "$out/good.a" >"$out/cut.a"
head -c 70 "$out/good.a" >"$out/cut_header.a"
head -c 200 "$out/good.o" >"$out/cut_member.o"
raw_archive cut_member "$out/cut_member.o"
patched foreign_machine good 18 '\267'
raw_archive foreign_machine "$out/foreign_machine.o"
patched small_class good 4 '\001'
raw_archive small_class "$out/small_class.o"
raw_archive bitcode "$out/bitcode.o"
raw_archive half_bitcode "$out/good.o" "$out/bitcode.o"
raw_archive text_member "$out/good.o" "$here/specimen.map"
rm -f "$out/thin.a"
"$AR" rcT "$out/thin.a" "$out/good.o"
printf '{ local: *; };\n' >"$out/nothing.map"
"$CC" -shared -Wl,--version-script="$out/nothing.map" -o "$out/no_symbols.so" \
    "$out/good.o"
cp "$out/good.o" "$out/object.so"
rm -f "$out/slim_lto.a"
if [ "$is_clang" = 0 ]; then
    object slim_lto specimen.c -flto -fno-fat-lto-objects
    raw_archive slim_lto "$out/slim_lto.o"
fi
rm -f "$out/real_bitcode.a"
if command -v clang >/dev/null; then
    clang -flto -Iruntime/include -c -o "$out/real_bitcode.o" \
        "$here/specimen.c"
    raw_archive real_bitcode "$out/real_bitcode.o"
fi
