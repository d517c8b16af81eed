#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# Shows how the harness finds a test engine, on copies of the reference that
# look like somebody else's runtime: without any engine API, with its own
# gte_register, and with an engine API of another name that a companion uses.
# And that a test engine that is no good gets one clear line.
#
# usage: check.sh BUILD FOLDER    (BUILD: where `make all` built)
set -uf
build=$(cd "$1" && pwd) || exit 2
source=$(cd "$(dirname "$0")" && pwd) || exit 2
mkdir -p "$2" || exit 2
work=$(cd "$2" && pwd)
rm -rf "$work"
mkdir -p "$work" || exit 2
cc=${CC:-cc} ar=${AR:-ar} objcopy=${OBJCOPY:-objcopy}
san=${SAN:-}
conform=$build/bin/gusset-conform
case_id=i1.output-zero-id.zero@pipe
passed=0 failed=0 skipped=0

# ---- The subjects ------------------------------------------------------

make_or_die() {
    "$@" >"$work/made" 2>&1 && return
    echo "check.sh: cannot run: $*" >&2
    cat "$work/made" >&2
    exit 2
}

engine=$build/obj/harness/engine
# shellcheck disable=SC2086
partial() { # OUTPUT INPUT...
    out=$1
    shift
    make_or_die $cc -nostdlib -r -o "$out" "$@"
}

set +f
runtime_objects=$(echo "$build"/obj/runtime/src/*.o)
set -f
# shellcheck disable=SC2086
{
    partial "$work/runtime.o" $runtime_objects
    partial "$work/companion.o" "$engine/gse_register.o" \
        "$engine/gse_adapter.o" "$engine/test_engine.o"
    partial "$work/with-own.o" "$work/runtime.o" "$work/companion.o"
}
# An archive hides nothing but what its objects hide.
make_or_die "$objcopy" --wildcard --keep-global-symbol='gusset_*' \
    "$work/runtime.o" "$work/hidden.o"
make_or_die "$objcopy" --wildcard --keep-global-symbol='gusset_*' \
    --keep-global-symbol=gte_register "$work/with-own.o" "$work/own.o"
nm -g --defined-only "$work/runtime.o" "$work/companion.o" |
    sed -n 's/.* \(gse_\(.*\)\)$/\1 acme_\2/p' >"$work/renamed"
for name in runtime companion; do
    make_or_die "$objcopy" --redefine-syms="$work/renamed" \
        "$work/$name.o" "$work/acme-$name.o"
done
for name in hidden own acme-runtime acme-companion; do
    make_or_die "$ar" rcs "$work/$name.a" "$work/$name.o"
done

share() { # NAME OBJECT EXPORTS [OPTION...]
    name=$1 object=$2 exports=$3
    shift 3
    echo "{ global: $exports local: *; };" >"$work/$name.map"
    # shellcheck disable=SC2086
    make_or_die $cc -shared $san -Wl,-soname,"lib$name.so" \
        -Wl,--version-script="$work/$name.map" -Wl,--build-id \
        -o "$work/$name.so" "$object" -pthread "$@"
}
# acme_ functions are hidden where the reference's objects say so.
share hidden "$work/runtime.o" "gusset_*;"
share own "$work/with-own.o" "gusset_*; gte_register;"
share acme-runtime "$work/acme-runtime.o" "gusset_*; acme_*;"
share needing "$work/acme-companion.o" "gte_register;" "$work/acme-runtime.so"
share bare "$work/acme-companion.o" "gte_register;"

# ---- What the harness says ---------------------------------------------

verdict() { # NAME RESULT DETAIL
    if [ "$2" -eq 0 ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAIL $1: $3"
        sed 's/^/| /' "$work/output" | head -40
    fi
}

# expect NAME CODE WORDS OPTION...: that exit code, those words.
expect() {
    name=$1 code=$2 words=$3
    shift 3
    timeout 120 "$conform" run --out "$work/out" --filter "$case_id" "$@" \
        >"$work/output" 2>&1
    got=$?
    grep -qF -- "$words" "$work/output"
    found=$?
    [ "$got" -eq "$code" ] && [ "$found" -eq 0 ]
    verdict "$name" $? "exit $got (must be $code), words: $words"
}

# finds NAME FROM OPTION...: the case passes, with the test engine of FROM. The
# self-test, which would come each time, is left out: hence exit code 3.
finds() {
    name=$1 from=$2
    shift 2
    expect "$name" 3 "1 passed, 0 failed, 0 skipped" --no-self-test "$@"
    grep -qF "\"test-engine\": \"$from\"" "$work/out/results.json"
    verdict "$name, whose it is" $? "must be the test engine of $from"
}

none="OUT-OF-REACH $case_id"
for kind in so a; do
    expect "17 exports and no more, .$kind" 3 "$none" --no-self-test \
        --impl "$work/hidden.$kind"
    expect "another engine API, .$kind" 3 "1 OUT-OF-REACH" --no-self-test \
        --impl "$work/acme-runtime.$kind"
    finds "its own gte_register, .$kind" "the subject" \
        --impl "$work/own.$kind"
    finds "the gse_ API, .$kind" "the harness, over gse_" \
        --impl "$build/lib/libgusset.$kind"
done
for companion in needing bare; do
    finds "a companion .so, $companion" "$work/$companion.so" \
        --impl "$work/acme-runtime.so" --test-engine "$work/$companion.so"
done
finds "a companion .a" "$work/acme-companion.a" \
    --impl "$work/acme-runtime.a" --test-engine "$work/acme-companion.a"
expect "one for each kind" 0 "2 passed, 0 failed, 0 skipped" \
    --impl "$work/acme-runtime.a" --test-engine "$work/acme-companion.a" \
    --impl "$work/acme-runtime.so" --test-engine "$work/bare.so"

# Its own comes before gse_, and the option before its own.
share both "$work/with-own.o" "gusset_*; gse_*; gte_register;"
finds "its own before gse_" "the subject" --impl "$work/both.so"
gse_engine=$build/lib/libgusset_test_engine_gse.a
share gse-companion "$engine/gse_register.o" "gte_register;" "$gse_engine"
finds "the option before its own" "$work/gse-companion.so" \
    --impl "$work/both.so" --test-engine "$work/gse-companion.so"
finds "an archive's gse_ API through the option" "$gse_engine" \
    --impl "$build/lib/libgusset.a" --test-engine "$gse_engine"

# Panics that are exceptions, in another language than the runtime's.
cxx=${CXX:-c++}
if command -v "$cxx" >"$work/made" 2>&1; then
    # shellcheck disable=SC2086
    make_or_die $cxx -std=c++17 -Wall -Wextra -Wpedantic -Werror -fPIC \
        -shared $san -I"$source" -I"$source/../../runtime/include" \
        -o "$work/example.so" "$source/example.cc" \
        "$build/lib/libgusset_test_engine.a"
    expect "an engine in C++" 3 "5 PASS" --no-self-test \
        --filter i2.contained.test-engine-texts@ring \
        --filter i2.location-fresh.test-engine \
        --filter i1.output-once.second-job@ring \
        --impl "$build/lib/libgusset.so" --test-engine "$work/example.so"
else
    skipped=$((skipped + 1))
    echo "SKIP an engine in C++: no $cxx"
fi

# ---- A test engine that is no good -------------------------------------

cat >"$work/bad.c" <<'END_OF_C'
int gte_register(void);
int gte_register(void) { return BAD; }
END_OF_C
make_or_die "$cc" -fPIC -c -DBAD=7 -o "$work/refuses.o" "$work/bad.c"
make_or_die "$cc" -fPIC -c '-DBAD=nowhere()' -Dint='int nowhere(void); int' \
    -o "$work/lacks.o" "$work/bad.c"
for name in refuses lacks; do
    make_or_die "$ar" rcs "$work/$name.a" "$work/$name.o"
    share "$name" "$work/$name.o" "gte_register;"
done
for kind in so a; do
    expect "one that refuses, .$kind" 3 "gte_register returned 7" \
        --no-self-test --impl "$build/lib/libgusset.$kind" \
        --test-engine "$work/refuses.$kind"
    grep -qF -- "--test-engine $work/refuses.$kind --filter" "$work/output"
    verdict "its rerun command names it, .$kind" $? "no --test-engine in it"
done
expect "a .so that cannot be loaded" 3 "undefined symbol: nowhere" \
    --no-self-test --impl "$build/lib/libgusset.so" --test-engine "$work/lacks.so"
expect "an archive that does not link" 2 "does not link with it" \
    --no-self-test --impl "$build/lib/libgusset.a" --test-engine "$work/lacks.a"

echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ]
