# shellcheck shell=sh disable=SC2046,SC2086,SC2154
# SPDX-License-Identifier: MIT OR Apache-2.0
# Part of command_line.sh, which reads it: with Go, without Go, with a Go that
# is too old, builds nothing, or is none; and what goes into the cases.

share=$bin/../share/gusset-conform/go
go_case=h.close.twice

# judged OPTION...: a case in Go, and one in C, on the reference.
judged() {
    echo "$conform" run --no-self-test --out "$work/out" \
        --impl "$lib/libgusset.so" --filter $go_case \
        --filter i1.take-once.second-take@pipe "$@"
}

# fake NAME VERSION: a Go that says so, and builds nothing.
fake() {
    {
        echo '#!/bin/sh'
        echo "[ \"\$1\" = version ] && { echo 'go version $2'; exit 0; }"
        echo "echo '# gusset.dev/go' >&2"
        echo "echo 'import.go:7:10: no compiler here' >&2; exit 1"
    } >"$work/$1"
    chmod +x "$work/$1"
}
fake go-old 'go1.19.8 linux/amd64'
fake go-later 'devel go1.99-0123abc Thu Jan 1 linux/amd64'
fake go-dumb 'of nothing'
mkdir -p "$work/no-go"
ln -sf "$(command -v env)" "$work/no-go/env"

# ---- Whatever Go is here -------------------------------------------------

refuse "go: another word" 2 "must be auto, never or require" $(judged --go=may)
refuse "go: no word" 2 "must be auto, never or require" $(judged --go=)
refuse "go: a package that is not there" 2 "No such file" \
    $(judged --go-package $work/no)
refuse "go: a package without go.mod" 2 "cannot read go.mod" \
    $(judged --go-package $work/folder.so)
refuse "go: GO names nothing" 2 "there is no $work/no" \
    env GO=$work/no $(judged)
refuse "go: GO names no Go" 2 "does not say which version" \
    env GO=$work/go-dumb $(judged)
refuse "go: too old, and required" 3 "needs Go 1.26 or later" \
    env GO=$work/go-old $(judged --go=require)
refuse "go: none, and required" 3 "there is no go in PATH" \
    env -u GO PATH=$work/no-go $(judged --go=require)
expect "go: none" 3 "there is no go in PATH" \
    env -u GO PATH=$work/no-go $(judged)
expect "go: none, the rest is judged" 3 "1 PASS, 1 OUT-OF-REACH" \
    env -u GO PATH=$work/no-go $(judged)
expect "go: too old" 3 "go-old is go1.19.8" env GO=$work/go-old $(judged)
expect "go: left out" 3 "OUT-OF-REACH $go_case" $(judged --go=never)
expect "go: builds nothing" 3 "BROKEN       $go_case" \
    env GO=$work/go-later $(judged)
expect "go: builds nothing, in the compiler's words" 3 \
    "| import.go:7:10: no compiler here" env GO=$work/go-later $(judged)
expect "go: the self-test goes without" 0 "left out: no case in Go is built" \
    env GO=$work/go-later "$conform" self --out "$work/out"
expect "go: the manifest names the cases" 0 "$go_case" \
    "$conform" list $go_case

# ---- With a Go that builds -----------------------------------------------

# changed NAME: a copy of the sources, to be changed.
changed() {
    rm -rf "${work:?}/$1"
    cp -r "$share" "$work/$1"
}

real_go() {
    expect "go: judged" 3 "2 PASS" $(judged --go=require)
    mkdir -p "$work/elsewhere"
    cp "$lib/libgusset.so" "$work/elsewhere/libgusset.so.2"
    expect "go: the loader finds the artifact all the same" 3 "2 PASS" \
        env LD_LIBRARY_PATH=$work/elsewhere $(judged)
    expect "go: so does the linker" 3 "2 PASS" \
        env LIBRARY_PATH=$work/elsewhere $(judged)
    expect "go: a preloaded library is seen" 3 "is mapped from $work/elsewhere" \
        env LD_PRELOAD=$work/elsewhere/libgusset.so.2 $(judged)

    changed stale
    sed -i 's/"id":"h/&.not-there.h/;q' "$work/stale/cases/manifest.jsonl"
    refuse "go: a stale manifest" 70 "is stale (make go-manifest" \
        "$conform" run --no-self-test --out $work/out --no-default-programs \
        --program $work/stale/cases --impl $lib/libgusset.so
    refuse "go: a folder without a manifest" 2 "cannot read its manifest" \
        "$conform" run --out $work/out --program $work/folder.so

    changed unsound
    echo 'var _ int = "no number"' >>"$work/unsound/stats.go"
    expect "go: a package that does not compile" 3 'untyped string constant' \
        $(judged --go-package $work/unsound)
    changed drifted
    sed -i 's/{{40, 8}, /{{48, 8}, /' "$work/drifted/abi.go"
    expect "go: a package that refuses the library" 1 \
        "killed by SIGABRT (Aborted), before it mapped its page" \
        $(judged --go-package $work/drifted)
    expect "go: such a package, in its own words" 1 \
        "CallHeader has size 40" $(judged --go-package $work/drifted)
    expect "go: another package, another plan" 3 "2 PASS" $(judged)
}

if command -v "${GO:-go}" >/dev/null 2>&1; then
    real_go
else
    skip "go: the programs themselves" "there is no Go"
fi
