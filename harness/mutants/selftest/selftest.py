#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""
Shows the mutants' driver failing: planted patches that are no mutants, each of
which must get the word and the reason that expected.txt gives it.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
DRIVER = HERE.parent / "mutants.py"
TIMEOUT_S = 120


class Tally:
    """Counts what was checked; says what was not as it must be."""

    def __init__(self) -> None:
        self.passed = 0
        self.failed = 0

    def check(self, name: str, wanted: str, seen: str) -> None:
        """`seen` must begin with the wanted word and contain the rest."""
        word, _, rest = wanted.partition(" ")
        seen_word, _, seen_rest = seen.partition(" ")
        if word == seen_word and rest in seen_rest:
            self.passed += 1
            print(f"ok      {name}: {seen}"[:120])
            return
        self.failed += 1
        print(f"NOT OK  {name}: wanted {wanted!r}, saw {seen!r}")


def drive(out: Path, source: Path, *words: str) -> tuple[int, str]:
    """Runs the driver on the planted patches; (exit code, last line)."""
    done = subprocess.run(
        [sys.executable, str(DRIVER), "--source", str(source),
         "--conform", str(HERE / "small_judge.py"),
         "--patches", str(HERE / "patches"), "--out", str(out), *words],
        capture_output=True, text=True, check=False, timeout=TIMEOUT_S)
    said = (done.stdout + done.stderr).strip().splitlines() or ["nothing"]
    return done.returncode, said[-1]


def said_by(out: Path, judge: Path, *words: str) -> list[str]:
    """All lines of a run with a judge of its own."""
    done = subprocess.run(
        [sys.executable, str(DRIVER), "--source", str(HERE / "tree"),
         "--conform", str(judge), "--patches", str(HERE / "patches"),
         "--out", str(out), *words],
        capture_output=True, text=True, check=False, timeout=TIMEOUT_S)
    return (done.stdout + done.stderr).splitlines()


def states(out: Path) -> dict[str, str]:
    """Mutant -> "STATE reason" as the driver wrote it."""
    rows = json.loads((out / "mutants.json").read_text(encoding="utf-8"))
    return {row["mutant"]: f"{row['state']} {row['reason']}" for row in rows}


def check_table(tally: Tally, out: Path) -> None:
    """Every planted patch gets its exact word, and none is left out."""
    code, last = drive(out, HERE / "tree")
    seen = states(out)
    table = (HERE / "expected.txt").read_text(encoding="utf-8").splitlines()
    wanted = dict(line.split(": ", 1) for line in table
                  if line and not line.startswith("#"))
    for name in sorted(set(wanted) | set(seen)):
        tally.check(name, wanted.get(name, "(in the table)"),
                    seen.get(name, "(a result)"))
    killed = sum(1 for word in wanted.values() if word.startswith("KILLED"))
    tally.check("exit code with a survivor", "1", str(code))
    lacking = sum(1 for word in wanted.values()
                  if word.startswith("OUT-OF-REACH"))
    tally.check("last line", f"{killed} passed, "
                f"{len(wanted) - killed - lacking} failed, "
                f"{2 + lacking} skipped", last)


def check_exit_codes(tally: Tally, out: Path) -> None:
    for name, wanted, words in (
            ("all killed", 0, ["killed", "killed-by-gl*"]),
            ("a broken one", 3, ["killed", "not-building"]),
            ("an unknown name", 2, ["absent"]),
            ("no judge", 2, ["--conform", str(out / "absent")]),
            ("no processors", 2, ["--jobs", "0"]),
            ("proofs of a part", 2, ["--kills", "kills.tsv", "killed"]),
            ("a generated one", 0, ["queue.c/small_room/compare/1"]),
            ("--list with trouble", 3, ["--list"])):
        code, last = drive(out, HERE / "tree", *words)
        tally.check(f"exit code, {name}", str(wanted), f"{code} {last}")


def check_looks(tally: Tally, out: Path) -> None:
    """The end of a log names what was judged twice, and what failed."""
    lines = said_by(out / "looks", HERE / "small_judge.py", "shaky-*")
    ends = lines[-6:]
    for name, wanted in (
            ("a second look", "looked at again: shaky-words: BROKEN, other "
             "words: 'FAIL"),
            ("a failure", "BROKEN shaky-pass: killed by another case")):
        tally.check(f"the end of a log, {name}", wanted, next(
            (line for line in ends if line.startswith(wanted.split(":")[0])),
            "-"))


def check_control(tally: Tally, out: Path) -> None:
    """An unchanged runtime that fails a killer: nothing is killed."""
    source = out / "faulty"
    shutil.rmtree(source, ignore_errors=True)
    shutil.copytree(HERE / "tree", source)
    code_file = source / "runtime/src/small.c"
    text = code_file.read_text(encoding="utf-8")
    code_file.write_text(text.replace("return a + b;", "return a * b;"),
                         encoding="utf-8")
    code, _ = drive(out / "control", source, "killed", "killed-by-glob")
    seen = states(out / "control")
    tally.check("mutants, control failing", "2", str(len(seen)))
    for name, state in seen.items():
        tally.check(f"{name}, control failing", "BROKEN control: "
                    "i1.take-small.sum is FAIL", state)
    tally.check("exit code, control failing", "3", str(code))


ROOM, TWINS = "queue.c/small_room/compare/1", "queue.c/small_twin/compare/1"
SHORT = "queue.c/small_short/constant/1"


def new_cells(lines: list[str], mutant: str) -> str:
    """How many cells of a mutant's row a full run says that it ran."""
    told = [line for line in lines if line.startswith("matrix ")
            and f" {mutant} " in line]
    return told[-1].rsplit(" run,", 1)[0].rsplit(" ", 1)[-1] if told else "-"


def check_full(tally: Tally, out: Path) -> None:
    """Annotations are put to the test; what is known is not run again."""
    judge = out / "judge.py"
    judge.write_bytes((HERE / "small_judge.py").read_bytes())
    judge.chmod(0o755)
    words = (ROOM, TWINS, SHORT, "killed", "--full")
    said_by(out / "full", judge, *words)
    seen = states(out / "full")
    tally.check("an annotation that is wrong", "BROKEN annotated as "
                "equivalent, and killed by i4.full-refuses.twins FAIL",
                seen.get(TWINS, "-"))
    tally.check("an annotation that holds", "EQUIVALENT no reason",
                seen.get(SHORT, "-"))
    matrix = json.loads((out / "full/matrix.json").read_text())
    tally.check("the matrix", "FAIL",
                matrix.get(ROOM, {}).get("i4.full-refuses.room", "-"))
    again = said_by(out / "full", judge, *words)
    tally.check("known cells, run again", "0", new_cells(again, ROOM))
    judge.write_bytes(judge.read_bytes() + b"# another judge\n")
    again = said_by(out / "full", judge, *words)
    tally.check("cells of a changed case program, run again", "6",
                new_cells(again, ROOM))
    check_kills(tally, out, judge)


def check_kills(tally: Tally, out: Path, judge: Path) -> None:
    """The table of proofs comes from whole runs only."""
    table = out / "kills.tsv"
    lines = said_by(out / "full", judge, ROOM, "--full", "--kills",
                    str(table))
    tally.check("proofs of a part", "mutants.py: the table of proofs is "
                "written from a run of all mutants only", lines[-1])
    lines = said_by(out / "lacking", judge, "--kills", str(table))
    tally.check("proofs of a machine that lacks a tool", "mutants.py: the "
                "table of proofs needs every tool: out-of-reach is out of "
                "reach", lines[-1])
    reached = out / "reached"
    shutil.rmtree(reached, ignore_errors=True)
    shutil.copytree(HERE / "patches", reached,
                    ignore=shutil.ignore_patterns("out-of-reach.patch"))
    said_by(out / "whole", judge, "--kills", str(table), "--patches",
            str(reached))
    proofs = dict(line.split("\t") for line in
                  table.read_text(encoding="utf-8").splitlines())
    tally.check("a proof", ROOM, proofs.get("i4.full-refuses.room", "-"))
    tally.check("a case without one", "-",
                proofs.get("i4.full-refuses.none", "-"))


def main(words: list[str]) -> int:
    if len(words) != 1:
        print("usage: selftest.py OUT", file=sys.stderr)
        return 2
    out = Path(words[0]).resolve()
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    tally = Tally()
    check_table(tally, out / "table")
    check_exit_codes(tally, out / "codes")
    check_looks(tally, out)
    check_control(tally, out)
    check_full(tally, out)
    print(f"{tally.passed} passed, {tally.failed} failed, 0 skipped")
    return 1 if tally.failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
