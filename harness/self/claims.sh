# shellcheck shell=sh disable=SC2046,SC2086,SC2154
# SPDX-License-Identifier: MIT OR Apache-2.0
# Part of command_line.sh, which reads it: claims files that are none, claims
# that are false, and an implementation with an engine of its own.

lib=$bin/../lib
source=$(cd "$(dirname "$0")/../.." && pwd)

# claims TEXT: a claims file with that text.
claims() {
    printf '%s\n' "$1" >"$work/claims.json"
}

# ---- Files that are none -------------------------------------------------

# bad NAME WORDS TEXT: a usage error in one line, before anything runs.
bad() {
    claims "$3"
    refuse "claims: $1" 2 "$2" $(run $so $plain --claims $work/claims.json)
}

refuse "claims: no file" 2 "No such file" \
    $(run $so $plain --claims $work/no.json)
refuse "claims: a folder" 2 "is not a regular file" \
    $(run $so $plain --claims $work)
refuse "claims: a pipe" 2 "is not a regular file" \
    $(run $so $plain --claims $work/fifo.so)
bad "nothing at all" "near end of file" ""
bad "bad JSON, with its line" "line 3: " '{
 "oom": "error",
 engine: "none"
}'
bad "cut off" "line 1: " '{"oom": "err'
bad "text after the end" "line 2: " '{"oom": "error"}
{"engine": "none"}'
bad "an array" "must be a JSON object" '["oom"]'
bad "an unknown key" 'unknown key "oops"' '{"oops": "error"}'
bad "a key in capitals" 'unknown key "OOM"' '{"OOM": "error"}'
bad "an unknown key that is no text" 'unknown key "a?b' '{"a\nb\u001b": 1}'
bad "a key twice" "duplicate object key" '{"oom": "error", "oom": "abort"}'
bad "an unknown value" 'oom must be "error" or "abort", not "maybe"' \
    '{"oom": "maybe"}'
bad "another key's value" 'fork_child must be "refuses" or "returns"' \
    '{"fork_child": "own"}'
bad "a number" 'engine must be "none" or "own", a text' '{"engine": 1}'
bad "null" 'unload must be "supported" or "refused", a text' '{"unload": null}'
bad "a prefix of everything" "engine_prefix must be" '{"engine_prefix": ""}'
bad "a prefix without an end" "engine_prefix must be" '{"engine_prefix": "gse"}'
bad "the prefix of the 17" "engine_prefix must be" \
    '{"engine_prefix": "gusset_"}'
bad "one library" "needed must be an array" '{"needed": "libc.so.6"}'
bad "a path" "item 2 is no library name" '{"needed": ["libc.so.6", "/lib/x"]}'
bad "a library twice" "names libm.so.6 twice" \
    '{"needed": ["libm.so.6", "libm.so.6"]}'
bad "versions in an array" "symbol_versions must be an object" \
    '{"symbol_versions": ["GLIBC_2.34"]}'
bad "a version that is a number" "GLIBC must have a version" \
    '{"symbol_versions": {"GLIBC": 2.34}}'
bad "a version with an end missing" "GLIBC must have a version" \
    '{"symbol_versions": {"GLIBC": "2."}}'
bad "bytes that are no UTF-8" "line 1: " "$(printf '{"oom": "\377"}')"
expect "claims: none, silent about all" 0 "silent about oom, stack_overflow" \
    $(run $so $plain)
claims '{"oom": "error"}'
expect "claims: not probed by what was selected" 0 "not probed: oom" \
    $(run $so $plain --claims $work/claims.json)
claims '{"oops": 1}'
refuse "claims: a case program reads them as strictly" 2 "unknown key" \
    $bin/conform-cases --run i1.take-once.second-take@pipe \
    --impl $work/whole.so --claims $work/claims.json

# ---- Claims that are false ----------------------------------------------

# judged IMPL CLAIMS FILTERS...: without the self-test, which `run` had above.
judged() {
    impl=$1
    claims "$2"
    shift 2
    echo "$conform" run --no-self-test --impl $impl --out "$work/out" \
        --claims "$work/claims.json" "$@"
}

# false NAME CLAUSE WORDS TEXT FILTER: refused for that clause, in these words.
false_claim() {
    expect "a false claim: $1" 1 "$3" $(judged $lib/libgusset.so "$4" "$5")
    grep -q "^  clause    $2, " "$work/stdout"
    verdict "a false claim: $1, blamed on $2" $? "another clause"
    grep -q ": broken" "$work/stdout"
    verdict "a false claim: $1, shown as broken" $? "not shown"
}

false_claim "stack_overflow = report" i5.stack-guard \
    "claim stack_overflow = report: there is a report" \
    '{"stack_overflow": "report"}' i5.stack-guard.overflow-as-claimed
false_claim "engine = own" i2.closed-by-default \
    "the claims file says engine = own, but no engine is registered" \
    '{"engine": "own"}' i2.closed-by-default.engine-as-claimed
false_claim "another engine_prefix" i6.no-foreign-symbols \
    "engine_prefix zzz_, but no visible symbol" '{"engine_prefix": "zzz_"}' \
    i6.no-foreign-symbols.engine-prefix
false_claim "needed" a.hardened "libc.so.6" '{"needed": ["libm.so.6"]}' \
    a.hardened
false_claim "symbol_versions" a.hardened "GLIBC" \
    '{"symbol_versions": {"GLIBC": "2.3"}}' a.hardened
false_claim "unload = refused" a.unload "refused" '{"unload": "refused"}' \
    a.unload

# The weaker claims are true of who keeps the stronger ones, or out of reach.
expect "oom = abort" 3 "abort: held" $(judged $lib/libgusset.so \
    '{"oom": "abort"}' l.alloc-failure)
grep -q '^PASS *l.alloc-failure.large-block' "$work/stdout" &&
    grep -q '^OUT-OF-REACH *l.alloc-failure.exhausted' "$work/stdout"
verdict "oom = abort, as far as it goes" $? "not so"
expect "fork_child = returns" 3 "returns: held" $(judged $lib/libgusset.so \
    '{"fork_child": "returns"}' i5.fork-child-stateless.as-claimed)
expect "pthread_exit = undefined" 3 "undefined: out of reach" \
    $(judged $lib/libgusset.so '{"pthread_exit": "undefined"}' i4.respawn)
expect "api_panics = hook" 3 "hook: out of reach" \
    $(judged $lib/libgusset.so '{"api_panics": "hook"}' i2.api-panic-poisons.*)
expect "silence" 3 "silent: no claim oom" \
    $(judged $lib/libgusset.so '{}' l.alloc-failure)

# ---- An engine of its own ------------------------------------------------

$cc -std=c11 -fPIC -I"$source/runtime/include" -c -o "$work/engine_own.o" \
    "$source/harness/self/planted/engine_own.c" &&
    $cc -r -nostdlib -o "$work/own.o" "$work/engine_own.o" \
        -Wl,--whole-archive "$lib/libgusset.a" -Wl,--no-whole-archive &&
    rm -f "$work/own.a" && ar rc "$work/own.a" "$work/own.o"
verdict "the planted archive is made" $? "$work/own.a"

expect "an own engine, undeclared" 1 \
    "an engine serves units although none was registered" \
    $(judged $work/own.a '{}' i2.closed-by-default.none-of-its-own)
grep -q "^  clause    i2.closed-by-default, MUST" "$work/stdout"
verdict "an own engine, undeclared: the clause" $? "another clause"
expect "an own engine, denied" 1 "none: broken" \
    $(judged $work/own.a '{"engine": "none"}' \
        i2.closed-by-default.engine-as-claimed)
expect "an own engine, declared" 3 "own: held" \
    $(judged $work/own.a '{"engine": "own"}' i1.take-once.* i1.buf-zeroed.* \
        i2.closed-by-default i2.engine-outranks-flag i5.no-thread-identity.* \
        i5.exit-safe.* i6.layout.*)
! grep -qE "^(FAIL|CRASH|HANG|LEAK|BROKEN)" "$work/stdout"
verdict "an own engine, declared: nothing fails" $? "something does"
for words in "PASS *i2.closed-by-default.engine-as-claimed" \
    "PASS *i6.layout" \
    "OUT-OF-REACH i2.closed-by-default.none-of-its-own.*no unit without" \
    "OUT-OF-REACH i1.take-once.second-take.*diagnostic engine cannot be" \
    "OUT-OF-REACH i5.no-thread-identity.*diagnostic engine cannot be" \
    "OUT-OF-REACH i5.exit-safe.*diagnostic engine cannot be"; do
    grep -qE "^$words" "$work/stdout"
    verdict "an own engine, declared: $words" $? "not so"
done
