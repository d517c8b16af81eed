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
        $(run --impl $work/whole.a --impl $work/whole.so $plain)
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
    refuse "--level" 2 "core or nightly" $(run --level x)
    refuse "--format" 2 "pretty, tap or jsonl" $(run --format xml)
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
    echo "check.wrong-value 9999-12-31 known for long" >"$work/waivers"
    expect "a waived failure" 0 "1 PASS, 1 WAIVED" \
        $(run $so pass.plain check.wrong-value --waive $work/waivers)
    echo "check.wrong-value 2000-01-01 known for long" >"$work/waivers"
    expect "an expired waiver" 1 "has expired" \
        $(run $so pass.plain check.wrong-value --waive $work/waivers)
    echo "pass.* 9999-12-31 known for long" >"$work/waivers"
    expect "a waiver nobody needs" 5 "is not needed any more" \
        $(run $so pass.plain --waive $work/waivers)
    echo "nope 9999-12-31 known for long" >"$work/waivers"
    expect "a waiver for nothing" 5 "fits no case" \
        $(run $so pass.plain --waive $work/waivers)
    echo "check.none 9999-12-31 known for long" >"$work/waivers"
    expect "BROKEN cannot be waived" 3 "1 BROKEN" \
        $(run $so check.none --waive $work/waivers)
    echo "check.none 31.12.2030 known" >"$work/waivers"
    refuse "a waiver without a day" 2 "waivers:1: no day" \
        $(run $so --waive $work/waivers)
    echo "check.none 9999-12-31" >"$work/waivers"
    refuse "a waiver without a reason" 2 "no reason" \
        $(run $so --waive $work/waivers)
    refuse "no file of waivers" 2 "No such file" $(run $so --waive $work/no)
    expect "FLAKY" 3 "1 FLAKY" \
        $(run $so flaky.by-seed --repeat 2 --seed 4)
    expect "the rerun command" 1 "run --impl $work/whole.so --filter \
check.wrong-value --seed 77" $(run $so check.wrong-value --seed 77)
    expect "TAP" 1 "not ok 1 - check.wrong-value [whole.so]" \
        $(run $so check.wrong-value --format tap)
    expect "JSON lines" 1 '"event":"end"' \
        $(run $so check.wrong-value --format jsonl)
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

    cat >"$work/vandal" <<'END'
#!/bin/sh
case $1 in
--list) echo '{"id":"vandal.case","clauses":["a.same-file"]}' ;;
*) while [ "$1" != --impl ]; do shift; done
   echo more >>"$2" ;;
esac
END
    cat >"$work/twice" <<'END'
#!/bin/sh
echo '{"id":"pass.plain","clauses":["a.same-file"]}'
END
    printf '#!/bin/sh\necho nonsense\n' >"$work/babbler"
    printf '#!/bin/sh\nexit 0\n' >"$work/mute"
    printf '#!/bin/sh\necho sorry >&2; exit 9\n' >"$work/quitter"
    chmod +x "$work/vandal" "$work/twice" "$work/babbler" "$work/mute" \
        "$work/quitter"
    cp "$work/whole.so" "$work/victim.so"
    expect "the artifact changes" 6 "changed while it was judged" \
        $(run --impl $work/victim.so --program $work/vandal vandal.case)
    refuse "two cases with one id" 70 "two cases are called pass.plain" \
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

echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ]
