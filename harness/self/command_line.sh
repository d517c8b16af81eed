#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# Shows that gusset-conform answers bad input with one clear line and the right
# exit code, and that nothing lost or broken is ever green.
#
# usage: command_line.sh BIN FOLDER     (BIN: the folder of gusset-conform)
set -uf
bin=$(cd "$1" && pwd) || exit 2
mkdir -p "$2" || exit 2
work=$(cd "$2" && pwd)/command-line
rm -rf "$work"
mkdir -p "$work" || exit 2
conform=$bin/gusset-conform
passed=0 failed=0 skipped=0

# verdict NAME CONDITION-RESULT DETAIL
verdict() {
    if [ "$2" -eq 0 ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAIL $1: $3"
        sed 's/^/| /' "$work/stdout" "$work/stderr" | head -40
    fi
}

# expect NAME CODE WORDS COMMAND...: that exit code, those words somewhere.
expect() {
    name=$1 code=$2 words=$3
    shift 3
    timeout 120 "$@" >"$work/stdout" 2>"$work/stderr"
    got=$?
    grep -qF -- "$words" "$work/stdout" "$work/stderr"
    found=$?
    [ "$got" -eq "$code" ] && [ "$found" -eq 0 ]
    verdict "$name" $? "exit $got (must be $code), words: $words"
}

# refuse NAME CODE WORDS COMMAND...: the same, and the answer is one line.
refuse() {
    expect "$@"
    lines=$(cat "$work/stdout" "$work/stderr" | wc -l)
    [ "$lines" -eq 1 ]
    verdict "$1, in one line" $? "$lines lines"
}

skip() {
    skipped=$((skipped + 1))
    echo "SKIP $1: $2"
}

# ---- The artifact ------------------------------------------------------

run() {
    echo "$conform" run --no-default-programs --program "$bin/conform-self" \
        --out "$work/out" "$@"
}
names="abi_fields abi_layout alloc_stats buf_alloc buf_free cancel cancel_all
drain_logs handle_close handle_open handle_ring init ring_release shutdown
status_free submit take"
for name in $names; do
    echo "int gusset_$name(void); int gusset_$name(void) { return 0; }"
done >"$work/whole.c"
grep -v 'gusset_take(' "$work/whole.c" >"$work/lacking.c"
{ cat "$work/whole.c"; echo 'int gusset_more = 1;'; } >"$work/stray.c"
echo 'int nothing(void); int nothing(void) { return 0; }' >"$work/none.c"
cc=${CC:-cc}
for kind in whole lacking stray none; do
    $cc -shared -fPIC -Wl,--build-id -o "$work/$kind.so" "$work/$kind.c" ||
        exit 2
    $cc -fPIC -c -o "$work/$kind.o" "$work/$kind.c" || exit 2
    ar rc "$work/$kind.a" "$work/$kind.o" || exit 2
done
cp "$work/whole.so" "$work/stripped.so"
strip "$work/stripped.so"
: >"$work/empty.so"
echo 'INPUT(libgusset.so)' >"$work/text.so"
head -c 9000 "$work/whole.so" >"$work/cut.so"
head -c 1000 "$work/whole.a" >"$work/cut.a"
mkdir -p "$work/folder.so"
printf '!<arch>\n' >"$work/hollow.a"
mkfifo "$work/fifo.so"

plain="--filter pass.plain"
printf 'pass.plain\tsome-mutant\n' >"$work/kills.tsv"
proven="--proofs $work/kills.tsv"
# Words are split on purpose: no path here holds a blank.
# shellcheck disable=SC2046,SC2086
{
    refuse "a path without a file" 2 "No such file" $(run --impl $work/no.so)
    refuse "a folder" 2 "is a directory" $(run --impl $work/folder.so)
    refuse "an empty file" 2 "is empty" $(run --impl $work/empty.so)
    refuse "a text" 2 "neither an ELF" $(run --impl $work/text.so)
    refuse "a pipe" 2 "not a regular file" $(run --impl $work/fifo.so)
    refuse "a program" 2 "is a program" $(run --impl /bin/true)
    refuse "a static program" 2 "is a program" $(run --impl $conform)
    refuse "an object file" 2 "is an object file" $(run --impl $work/whole.o)
    refuse "a .so that is cut off" 2 "is cut off" $(run --impl $work/cut.so)
    refuse "an .a that is cut off" 2 "is cut off" $(run --impl $work/cut.a)
    refuse "an archive of nothing" 2 "without a single object" \
        $(run --impl $work/hollow.a)
    refuse "a .so without the functions" 1 "i6.exports-exact" \
        $(run --impl $work/none.so)
    refuse "an .a without the functions" 1 "missing: gusset_abi_fields" \
        $(run --impl $work/none.a)
    expect "a .so that lacks one" 1 "lacks gusset_take" \
        $(run --impl $work/lacking.so $plain)
    expect "a .so that has one more" 1 "beyond the 17: gusset_more" \
        $(run --impl $work/stray.so $plain)
    expect "a whole .so" 0 "whole.so (shared): conforming: 1 PASS" \
        $(run --impl $work/whole.so $plain)
    expect "another image than the artifact" 3 "ran the image 00c0ffee" \
        $(run --impl $work/whole.so --filter page.other-image)
    expect "a stripped .so" 0 "stripped.so (shared): conforming" \
        $(run --impl $work/stripped.so $plain)
    expect "two at once" 0 "2 passed, 0 failed, 0 skipped" \
        $(run --impl $work/whole.a --impl $work/whole.so $plain $proven)
    refuse "one twice" 2 "is given twice" \
        $(run --impl $work/whole.a --impl $work/whole.a)
    if $cc -m32 -c -o "$work/m32.o" "$work/whole.c" 2>"$work/stderr" &&
        [ "$(uname -m)" = x86_64 ]; then
        ar rc "$work/m32.a" "$work/m32.o"
        refuse "an archive for another machine" 2 "is built for i386" \
            $(run --impl $work/m32.a)
    else
        skip "an archive for another machine" "$cc cannot make one"
    fi
    if gcc -flto -fno-fat-lto-objects -c -o "$work/lto.o" "$work/whole.c" \
        2>"$work/stderr"; then
        ar rc "$work/lto.a" "$work/lto.o" 2>/dev/null
        refuse "slim LTO objects" 2 "compiler bitcode (LTO)" \
            $(run --impl $work/lto.a)
    else
        skip "slim LTO objects" "no gcc"
    fi
    if clang -flto -c -o "$work/bc.o" "$work/whole.c" 2>"$work/stderr"; then
        ar rc "$work/bc.a" "$work/bc.o" 2>/dev/null
        refuse "LLVM bitcode" 2 "compiler bitcode (LTO)" \
            $(run --impl $work/bc.a)
    else
        skip "LLVM bitcode" "no clang"
    fi
    (cd "$work" && ar rcT thin.a whole.o)
    refuse "a thin archive" 2 "is a thin archive" $(run --impl $work/thin.a)

    # ---- The test engine ----
    echo 'int gte_register(void); int gte_register(void) { return 0; }' \
        >"$work/engine.c"
    $cc -shared -fPIC -o "$work/engine.so" "$work/engine.c" || exit 2
    $cc -fPIC -c -o "$work/engine.o" "$work/engine.c" || exit 2
    ar rc "$work/engine.a" "$work/engine.o" || exit 2
    cp "$work/engine.so" "$work/engine2.so"
    for bad in "no.so No such file" "folder.so is a directory" \
        "empty.so is empty" "text.so neither an ELF" \
        "fifo.so not a regular file" "engine.o is an object file" \
        "cut.so is cut off" "thin.a is a thin archive" \
        "none.so has no gte_register" "none.a has no gte_register"; do
        refuse "a test engine: ${bad#* }" 2 "${bad#* }" \
            $(run $plain --impl $work/whole.so --test-engine \
            $work/${bad%% *})
    done
    refuse "a test engine that is a program" 2 "is a program" \
        $(run $plain --impl $work/whole.so --test-engine /bin/true)
    refuse "a .so for an archive" 2 "a .so goes with a .so" \
        $(run $plain --impl $work/whole.a --test-engine $work/engine.so)
    refuse "an archive for a .so" 2 "a .so goes with a .so" \
        $(run $plain --impl $work/whole.so --test-engine $work/engine.a)
    refuse "two for one" 2 "has one already" \
        $(run $plain --impl $work/whole.so --test-engine $work/engine.so \
        --test-engine $work/engine2.so)
    refuse "--test-engine without its value" 2 "needs a value" \
        $(run --test-engine)
    refuse "an empty --test-engine" 2 "the value is empty" \
        $(run --test-engine=)
    if [ -f "$work/m32.a" ]; then
        refuse "a test engine for another machine" 2 "is built for i386" \
            $(run $plain --impl $work/whole.a --test-engine $work/m32.a)
    fi
    expect "a good test engine" 0 "whole.so (shared): conforming: 1 PASS" \
        $(run $plain --impl $work/whole.so --test-engine $work/engine.so)
}

# ---- The command line --------------------------------------------------

so="--impl $work/whole.so"
# shellcheck disable=SC2046,SC2086
{
    refuse "no command" 2 "no command given" $conform
    refuse "an unknown command" 2 "no command fly" $conform fly
    refuse "an unknown option" 2 "cannot use --fly" $(run --fly)
    refuse "an option without its value" 2 "needs a value" $(run --seed)
    refuse "another command's option" 2 "no option --impl" \
        $conform self --impl x
    refuse "--jobs 0" 2 "from 1 to" $(run --jobs 0)
    refuse "--jobs -1" 2 "must be a number" $(run --jobs -1)
    refuse "--jobs 2x" 2 "must be a number" $(run --jobs 2x)
    refuse "--repeat 0" 2 "must be a number" $(run --repeat 0)
    refuse "--seed of 65 bits" 2 "must be a number" \
        $(run --seed 18446744073709551616)
    refuse "--timeout-scale 0" 2 "must be a number" $(run --timeout-scale 0)
    refuse "--timeout-scale nan" 2 "must be a number" \
        $(run --timeout-scale nan)
    refuse "--effort" 2 "survey, normal or nightly" $(run --effort x)
    refuse "--effort survey that would certify" 2 "needs --no-self-test" \
        $(run --effort survey)
    refuse "--level" 2 "core, hardened or certified" $(run --level nightly)
    refuse "--format" 2 "pretty, tap or jsonl" $(run --format xml)
    if [ -d /sys ] && [ ! -w /sys/x ]; then
        refuse "--out where nothing can be made" 2 "cannot make /sys/x: " \
            $(run $so --out /sys/x/y)
    fi
    refuse "--out below a file" 2 "--out /dev/null/x" \
        $(run $so --out /dev/null/x)
    refuse "--program without a file" 2 "No such file" \
        $(run $so --program $work/no)
    refuse "no program" 2 "leaves no case program" \
        $conform list --no-default-programs
    refuse "a glob for nothing" 4 "selects no case" $(run $so --filter 'x*')
    refuse "one good glob, one for nothing" 4 "--filter nope" \
        $(run $so --filter pass.plain --filter nope)
    refuse "an exclude of nothing" 4 "--exclude nope" $(run $so --exclude nope)
    refuse "all excluded" 4 "nothing is left" $(run $so --exclude '*')
    refuse "a clause without a case" 4 "no case judges it" \
        $(run $so --filter h.zero-copy)
    cat >"$work/once.sh" <<'END'
#!/bin/sh
[ "$1" = --list ] || exit 9
echo '{"id":"i6.header-compiles.x","clauses":["i6.header-compiles"],' \
    '"why":"w","steps":"s","expected":"e","mutant":null,"needs":[],' \
    '"tags":["once"],"timeout_ms":1000,"dies_by":null,"marker":null,' \
    '"file":"f","line":1,"transport":null}'
END
    chmod +x "$work/once.sh"
    echo 'int header;' >"$work/good.h"
    : >"$work/empty.h"
    once="$so --program $work/once.sh --filter i6.header-compiles.x"
    refuse "--header without a file" 2 "No such file" \
        $(run $once --header $work/no.h)
    refuse "--header, a folder" 2 "not a regular file" \
        $(run $once --header $work)
    refuse "--header, an empty file" 2 "is empty" \
        $(run $once --header $work/empty.h)
    refuse "--header that nobody judges" 4 "no chosen case judges it" \
        $(run $so --filter pass.plain --header $work/good.h)
    expect "a case of the header: once, whatever the artifacts" 3 \
        "plan      1 results: 1 case;" \
        $(run $once --impl $work/whole.a --header $work/good.h)
    expect "a header's own verdict" 3 "gusset.h (header): inconclusive" \
        $(run $once --header $work/good.h)
    refuse "explain nothing" 2 "name a case" $conform explain \
        --no-default-programs --program $bin/conform-self
    refuse "explain the unknown" 4 "selects no case" $conform explain nope \
        --no-default-programs --program $bin/conform-self
    expect "explain a clause" 0 "SHOULD" $conform explain i2.silent \
        --no-default-programs --program $bin/conform-self
    expect "help" 0 "exit codes:" $conform --help
    expect "help on a command" 0 "--timeout-scale X" $conform run --help
    expect "version" 0 "ABI version 2" $conform --version
    for code in "signal.abrt 1" "leak.descriptor 1" "page.not-mapped 3" \
        "skip.with-reason 3"; do
        expect "exit code of $code" ${code#* } "${code% *}" \
            $(run $so --filter ${code% *})
    done
    expect "a failure outranks BROKEN" 1 "1 FAIL, 1 BROKEN" \
        $(run $so check.wrong-value check.none)
    expect "FLAKY" 3 "1 FLAKY" \
        $(run $so flaky.by-seed --repeat 2 --seed 4)
    expect "the rerun command" 1 "run --impl $work/whole.so --filter \
check.wrong-value --seed 77" $(run $so check.wrong-value --seed 77)
    expect "TAP" 1 "not ok 1 - check.wrong-value [whole.so]" \
        $(run $so check.wrong-value --format tap)
    expect "JSON lines" 1 '"event":"end"' \
        $(run $so check.wrong-value --format jsonl)
}

# ---- Levels, proofs and waivers ----------------------------------------

# The cases of conform-self under other clauses, few enough for a whole run.
cat >"$work/few" <<END
#!/bin/sh
case \$1 in
--list)
    echo '{"id":"pass.plain","clauses":["i3.zero-means-none"]}'
    echo '{"id":"check.wrong-value","clauses":["i3.exact-texts"]}'
    echo '{"id":"signal.segv","clauses":["i3.cancel"]}'
    echo '{"id":"skip.with-reason","clauses":["i1.output-once"]}'
    echo '{"id":"reach.with-reason","clauses":["i3.deadline"],
          "needs":["test-engine"]}' | tr '\n' ' '
    ;;
*) exec $bin/conform-self "\$@" ;;
esac
END
cat >"$work/single" <<END
#!/bin/sh
case \$1 in
--list) echo '{"id":"pass.plain","clauses":["i3.zero-means-none"]}' ;;
*) exec $bin/conform-self "\$@" ;;
esac
END
cat >"$work/many" <<'END'
#!/bin/sh
i=0
while [ $i -lt 2000 ]; do
    echo '{"id":"many.'$i'","clauses":["i2.contained"],"why":"A line."}'
    i=$((i + 1))
done
END
chmod +x "$work/few" "$work/single" "$work/many"

few() {
    # shellcheck disable=SC2086
    echo "$conform" run --no-default-programs --program "$work/few" \
        $so --out "$work/out" "$@"
}
single() {
    # shellcheck disable=SC2086
    echo "$conform" run --no-default-programs --program "$work/single" \
        $so --out "$work/out" "$@"
}
# shellcheck disable=SC2046,SC2086
{
    expect "a level has its line" 1 "level hardened: reached for 2 of" $(few)
    expect "out of reach by name" 1 \
        "i3.deadline (needs an engine that is not there)" $(few)
    expect "a clause without a case" 1 "without a case: i1.status-owned" \
        $(few)
    expect "a hook that nobody declares" 1 "not counted: i2.api-panic" $(few)
    expect "what was not selected" 1 "not selected: 4" \
        $(few check.wrong-value)
    expect "core leaves out" 1 "i3.deadline (level core leaves out what needs \
test-engine)" $(few --level core)
    refuse "a case that core leaves out" 4 "selects only what level core" \
        $(few --level core reach.with-reason)
    refuse "a clause that core leaves out" 4 "selects only what level core" \
        $(few --level core i1.output-once)
    # 2000 lines do not fit into a pipe: one of them meets its closed end.
    sh -c "$conform list --no-default-programs --program $work/many \
        --format jsonl; echo \$? >$work/code" 2>"$work/stderr" |
        head -n 1 >"$work/stdout"
    [ "$(cat "$work/code")" -eq 141 ] && [ ! -s "$work/stderr" ]
    verdict "list | head ends silently" $? "exit $(cat "$work/code")"
    expect "list at a level" 0 "3 cases" $conform list --level core \
        --no-default-programs --program $work/few
    expect "certified is out of reach" 3 "the level itself is out of reach" \
        $(few $proven --level certified pass.plain)
    expect "certified asks for a Go host" 3 "(needs a Go host)" \
        $(few $proven --level certified pass.plain)
    expect "certified can be refused" 1 "1 FAIL" \
        $(few --level certified check.wrong-value)

    expect "an unproven pass" 0 "1 PASS (1 of them unproven, not counted)" \
        $(few pass.plain)
    expect "unproven, by name" 0 "unproven  pass.plain" \
        $(few pass.plain --verbose)
    expect "an unproven pass judges nothing" 0 \
        "by unproven cases only: i3.zero-means-none" $(few pass.plain)
    expect "an unproven pass is no success" 0 "0 passed, 0 failed, 1 skipped" \
        $(few pass.plain)
    expect "a whole run without a proof" 3 "inconclusive: 1 PASS (1" $(single)
    expect "a whole run with one" 0 "1 passed, 0 failed, 0 skipped" \
        $(single $proven)
    expect "a proven pass judges" 0 "level hardened: reached for 1 of" \
        $(single $proven)
    printf 'b\tx\na\tx\n' >"$work/bad.tsv"
    refuse "proofs not sorted" 2 "bad.tsv:2: not sorted" \
        $(single --proofs $work/bad.tsv)
    printf 'a\tx\na\tx\n' >"$work/bad.tsv"
    refuse "a proof twice" 2 "a case twice" $(single --proofs $work/bad.tsv)
    printf 'a x\n' >"$work/bad.tsv"
    refuse "a proof without a tab" 2 "bad.tsv:1: no case before a tab" \
        $(single --proofs $work/bad.tsv)
    printf 'a\t\n' >"$work/bad.tsv"
    refuse "a proof without a mutant" 2 "no mutant behind" \
        $(single --proofs $work/bad.tsv)
    printf 'a@pipe\tx\n' >"$work/bad.tsv"
    refuse "a proof of a transport" 2 "with its transport" \
        $(single --proofs $work/bad.tsv)
    printf 'a\tx' >"$work/bad.tsv"
    refuse "proofs cut off" 2 "cut off" $(single --proofs $work/bad.tsv)
    : >"$work/bad.tsv"
    refuse "no proof" 2 "is empty" $(single --proofs $work/bad.tsv)
    refuse "no file of proofs" 2 "No such file" $(single --proofs $work/no)
}

# waiver CLAUSE KIND [EXPIRES [LINK]]: one item, without its brackets.
waiver() {
    printf '{"clause": "%s", "kind": "%s", "owner": "Ann", "reason":
 "known for long", "link": "%s", "expires": "%s"}\n' "$1" "$2" \
        "${4-https://example.org/1}" "${3-9999-12-31}"
}
# waivers ITEM...: makes the file.
waivers() {
    {
        echo "["
        between=""
        for item in "$@"; do
            printf '%s%s' "$between" "$item"
            between=", "
        done
        echo "]"
    } >"$work/waivers"
}
waive="--waive $work/waivers"
text=i3.exact-texts
# shellcheck disable=SC2046,SC2086
{
    expect "no waivers, and said so" 0 "0 waivers, 0 results waived" \
        $(single $proven)
    waivers "$(waiver $text FAIL)" "$(waiver i3.cancel CRASH)"
    expect "waived failures" 0 "1 PASS, 1 SKIP, 1 OUT-OF-REACH, 2 WAIVED" \
        $(few $proven $waive)
    expect "they are counted" 0 "2 waivers, 2 results waived" \
        $(few $proven $waive)
    expect "they are explained" 0 \
        "(waived until 9999-12-31 by Ann: known for long, https://example.org" \
        $(few $proven $waive)
    waivers "$(waiver $text FAIL)" "$(waiver i3.cancel FAIL)"
    expect "a FAIL waived is no CRASH waived" 1 "1 CRASH, 1 SKIP" \
        $(few $proven $waive)
    expect "such a waiver is unused" 1 \
        "item 2: the waiver of FAIL for i3.cancel (Ann, until 9999-12-31) is \
unused: no case of i3.cancel ended as FAIL" $(few $proven $waive)
    waivers "$(waiver i3.zero-means-none FAIL)"
    expect "a waiver nobody needs" 5 "is not needed any more: all cases of" \
        $(single $proven $waive)
    waivers "$(waiver i3.zero-means-none FAIL 2000-01-01)"
    expect "an expired waiver" 5 "has expired" $(single $proven $waive)
    waivers "$(waiver $text FAIL 2000-01-01)"
    expect "an expired waiver covers nothing" 1 "1 FAIL" \
        $(few check.wrong-value $waive)
    waivers "$(waiver $text FAIL)"
    expect "a waiver for no case" 5 "is unused: no case blames $text" \
        $(single $proven $waive)
    expect "a waiver of what is not selected" 0 "1 waiver, 0 results waived" \
        $(few $proven pass.plain $waive)
    waivers "$(waiver i3.deadline FAIL)"
    expect "a waiver of what cannot be reached" 5 "is unused" \
        $(few $proven pass.plain reach.with-reason $waive)
    waivers "$(waiver i2.contained FAIL)"
    expect "BROKEN cannot be waived" 3 "1 BROKEN" $(run $so check.none $waive)
    waivers
    expect "an empty list" 0 "0 waivers" $(single $proven $waive)

    refuse "no file of waivers" 2 "No such file" $(single --waive $work/no)
    refuse "a folder of waivers" 2 "Is a directory" $(single --waive $work)
    echo 'i3.cancel 9999-12-31 known' >"$work/waivers"
    refuse "no JSON" 2 "waivers:1: no JSON" $(single $waive)
    printf '[\n{"clause":\n}]' >"$work/waivers"
    refuse "the line of the mistake" 2 "waivers:3: no JSON" $(single $waive)
    echo '{}' >"$work/waivers"
    refuse "no array" 2 "must be an array" $(single $waive)
    waivers 7
    refuse "no object" 2 "item 1: is no object" $(single $waive)
    waivers "$(waiver $text FAIL)" "$(waiver $text FAIL | sed 's/owner/own/')"
    refuse "an unknown member" 2 "item 2: there is no member own" \
        $(single $waive)
    for member in clause kind owner reason link expires; do
        waivers "$(waiver $text FAIL | tr -d '\n' |
            sed "s/\"$member\": *\"[^\"]*\"[,]*//; s/, *}/}/")"
        refuse "no $member" 2 "item 1: $member is missing" $(single $waive)
        waivers "$(waiver $text FAIL | tr -d '\n' |
            sed "s/\"$member\": *\"[^\"]*\"/\"$member\": 1/")"
        refuse "$member is a number" 2 "item 1: $member is no text" \
            $(single $waive)
        waivers "$(waiver $text FAIL | tr -d '\n' |
            sed "s/\"$member\": *\"[^\"]*\"/\"$member\": \" \"/")"
        refuse "$member is empty" 2 "item 1: $member is empty" $(single $waive)
    done
    waivers "$(waiver $text FAIL | sed 's/"owner"/"owner": "Bo", "owner"/')"
    refuse "a member twice" 2 "duplicate" $(single $waive)
    waivers "$(waiver $text FAIL | sed 's/Ann/A\\nn/')"
    refuse "a line break" 2 "owner holds a control character" $(single $waive)
    waivers "$(waiver i9.nothing FAIL)"
    refuse "an unknown clause" 2 "has no clause i9.nothing" $(single $waive)
    for kind in PASS WAIVED BROKEN fail; do
        waivers "$(waiver $text $kind)"
        refuse "the kind $kind" 2 "kind $kind is not FAIL" $(single $waive)
    done
    for day in 2026-02-30 2025-02-29 2100-02-29 2026-13-01 2026-00-10 \
        0000-01-01 2026-1-1 31.12.2030 9999-12-31T; do
        waivers "$(waiver $text FAIL $day)"
        refuse "the day $day" 2 "expires $day is no day" $(single $waive)
    done
    waivers "$(waiver i3.zero-means-none FAIL 2024-02-29)"
    expect "a day that there was" 5 "has expired" $(single $proven $waive)
    for link in example.org ftp://example.org/ https:// https:///x; do
        waivers "$(waiver $text FAIL 9999-12-31 $link)"
        refuse "the link $link" 2 "is no http or https URL" $(single $waive)
    done
    waivers "$(waiver $text FAIL)" "$(waiver $text CRASH)" \
        "$(waiver $text FAIL)"
    refuse "one clause and kind twice" 2 \
        "item 3: FAIL of $text is waived by item 1 already" $(single $waive)
}

# ---- Nothing lost is green ---------------------------------------------

# shellcheck disable=SC2046,SC2086
{
    rm -f "$work/out/results.json"
    mkdir -p "$work/out/results.json/in-the-way"
    expect "results.json cannot be written" 3 "cannot write results.json" \
        $(run $so $plain)
    rm -rf "$work/out/results.json"
    expect "standard output is full" 3 "standard output" \
        sh -c "$(run $so $plain) >/dev/full"
    refuse "another run has the folder" 2 "another run" \
        flock "$work/out/.lock" $(run $so $plain)

    # It does harm to the artifact, then passes as pass.plain does.
    cat >"$work/vandal" <<END
#!/bin/sh
if [ \$1 = --list ]; then
    echo '{"id":"vandal.writes","clauses":["i2.contained"]}'
    echo '{"id":"vandal.swaps","clauses":["i2.contained"]}'
    echo '{"id":"vandal.swaps-back","clauses":["i2.contained"]}'
    echo '{"id":"vandal.rests","clauses":["i2.contained"]}'
    echo '{"id":"page.other-image","clauses":["i2.contained"]}'
    echo '{"id":"pass.plain","clauses":["a.same-file"]}'
    exit
fi
id=\$2 page=\$4
while [ \$1 != --impl ]; do shift; done
case \$id in
vandal.writes) echo more >>\$2 ;;
vandal.swaps) cp $work/stray.so \$2.new && mv \$2.new \$2 ;;
vandal.swaps-back) mv \$2 \$2.old && cp $work/stray.so \$2 &&
    mv \$2.old \$2 ;;
page.other-image) exec $bin/conform-self --run page.other-image \
    --page \$page --seed 0 ;;
esac
exec $bin/conform-self --run pass.plain --page \$page --seed 0
END
    cat >"$work/twice" <<'END'
#!/bin/sh
echo '{"id":"pass.plain","clauses":["a.same-file"],"file":"here.c","line":7}'
END
    printf '#!/bin/sh\necho nonsense\n' >"$work/babbler"
    printf '#!/bin/sh\nexit 0\n' >"$work/mute"
    printf '#!/bin/sh\necho sorry >&2; exit 9\n' >"$work/quitter"
    chmod +x "$work/vandal" "$work/twice" "$work/babbler" "$work/mute" \
        "$work/quitter"
    # The image of page.other-image is what this build id says.
    $cc -shared -fPIC -Wl,--build-id=0x00c0ffee -o "$work/coffee.so" \
        "$work/whole.c"
    vandal() {
        cp "$work/coffee.so" "$work/victim.so"
        echo "$conform" run --no-default-programs --program "$work/vandal" \
            --impl "$work/victim.so" --out "$work/out" "$@"
    }
    expect "the file that ran is the one judged" 0 "2 PASS" \
        $(vandal page.other-image a.same-file)
    expect "nothing shows which file ran" 0 "1 PASS (1 of them unproven, not \
counted), 1 OUT-OF-REACH" $(vandal vandal.rests a.same-file)
    expect "another file ran" 1 "a case ran another image than the file" \
        $(vandal page.other-image a.same-file | sed s/victim.so/whole.so/)
    for how in writes swaps swaps-back; do
        expect "an artifact that somebody $how" 6 "changed while it was" \
            $(vandal vandal.$how)
    done
    for how in writes swaps; do
        expect "a.same-file when somebody $how" 6 \
            "the SHA-256 of the artifact is not what it was" \
            $(vandal vandal.$how a.same-file)
    done
    expect "a.same-file when somebody swaps it back" 6 \
        "the artifact was replaced or written to during the run" \
        $(vandal vandal.swaps-back a.same-file)
    refuse "two cases with one id" 70 "two cases are called pass.plain" \
        $(run $so --program $work/twice)
    expect "both places of the id" 70 "and in $work/twice (here.c:7)" \
        $(run $so --program $work/twice)
    refuse "a program that lists nonsense" 70 "not a JSON object" \
        $(run $so --program $work/babbler)
    refuse "a program that lists nothing" 70 "names no case" \
        $(run $so --program $work/mute)
    expect "a program that fails" 70 "--list failed: exit 9" \
        $(run $so --program $work/quitter)

    mkdir -p "$work/alone/bin"
    cp "$conform" "$work/alone/bin/"
    refuse "conform-self is missing" 70 "conform-self" \
        $work/alone/bin/gusset-conform self --out $work/out
    cp "$bin/conform-self" "$bin/conform-self-glue" "$work/alone/bin/"
    cp "$work/single" "$work/alone/bin/conform-cases"
    cp -r "$bin/../share" "$work/alone/"
    sed 's/pass.plain/pass.other/' "$work/single" >"$work/alone/bin/abi-check"
    chmod +x "$work/alone/bin/abi-check"
    expect "a proof of a case that is not there" 70 "kills.tsv proves" \
        $work/alone/bin/gusset-conform self --out $work/out
    rm -f "$work/alone/bin/abi-check"
    expect "no case programs to compare with" 0 "SKIP   table of kills" \
        $work/alone/bin/gusset-conform self --out $work/out
    rm -f "$work/alone/bin/conform-self"
    cat >"$work/alone/bin/conform-self" <<END
#!/bin/sh
case \$2 in
check.wrong-value) shift 2; exec $bin/conform-self --run pass.plain "\$@" ;;
*) exec $bin/conform-self "\$@" ;;
esac
END
    chmod +x "$work/alone/bin/conform-self"
    cp "$bin/conform-self-glue" "$work/alone/bin/"
    expect "a self-test that differs" 70 "WRONG  check.wrong-value: PASS" \
        $work/alone/bin/gusset-conform self --out $work/out
    expect "nothing is judged then" 70 "nothing was judged" \
        $work/alone/bin/gusset-conform run --no-default-programs \
        --program $bin/conform-self --out $work/out $so $plain
}

# ---- Claims ------------------------------------------------------------

# shellcheck disable=SC1091 # checked as a file of its own
. "$(dirname "$0")/claims.sh"

# ---- Go ----------------------------------------------------------------

# shellcheck disable=SC1091 # checked as a file of its own
. "$(dirname "$0")/go.sh"

# ---- The end comes early -----------------------------------------------

# begin: a run with a case that hangs, until that case is under way.
begin() {
    rm -f "$work/out/events.jsonl"
    # shellcheck disable=SC2086
    command=$(run $so pass.plain hang.sleep --timeout-scale 50)
    $command >"$work/stdout" 2>"$work/stderr" &
    pid=$!
    tries=0
    until grep -q pass.plain "$work/out/events.jsonl" 2>/dev/null; do
        tries=$((tries + 1))
        [ $tries -gt 1200 ] && return 1
        sleep 0.1
    done
}

sleepers() {
    pgrep -f "conform-self --run hang.sleep --page $work/" | wc -l
}

begin
kill -TERM $pid
wait $pid
code=$?
[ $code -eq 3 ] && grep -q 'ended by SIGTERM' "$work/stderr" &&
    grep -q 'NOT-RUN' "$work/out/results.json" && [ "$(sleepers)" -eq 0 ]
verdict "SIGTERM writes what is known" $? "exit $code, $(sleepers) left"

begin
kill -KILL $pid
wait $pid 2>/dev/null
tries=0
while [ "$(sleepers)" -ne 0 ] && [ $tries -lt 100 ]; do
    tries=$((tries + 1))
    sleep 0.1
done
[ "$(sleepers)" -eq 0 ]
verdict "SIGKILL leaves no case behind" $? "$(sleepers) left"
[ "$(tail -c 2 "$work/out/events.jsonl")" = '}' ]
verdict "SIGKILL leaves whole lines" $? "$(tail -c 80 "$work/out/events.jsonl")"
mkdir -p "$work/out/work-1"
set +f
[ "$(find "$work"/out -maxdepth 1 -name 'work-*' | wc -l)" -eq 2 ]
verdict "SIGKILL leaves its folder" $? "$(ls "$work/out")"
# shellcheck disable=SC2046,SC2086
expect "the next run" 0 "1 PASS" $(run $so $plain)
[ "$(ls -d "$work"/out/work-*)" = "$work/out/work-1" ]
verdict "the next run takes it away, not that of another" $? \
    "$(ls "$work/out")"
set -f
rmdir "$work/out/work-1"

echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ]
