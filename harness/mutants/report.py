# SPDX-License-Identifier: MIT OR Apache-2.0
"""What the driver prints and writes."""

from __future__ import annotations

import json
import os
import sys
import threading
from pathlib import Path

from judge import (BROKEN, EQUIVALENT, KILLED, SURVIVED, UNREACHED, Declared,
                   Outcome, base_of)
from patches import VERDICTS as STRIKES
from patches import Mutant
from workshop import Trouble


PROOFS_LISTED = 8


class Console:
    """Whole lines from several threads; colour only on a terminal."""

    COLOURS = {KILLED: "32", SURVIVED: "31;1", BROKEN: "35;1",
               UNREACHED: "33"}

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR")

    def line(self, text: str) -> None:
        with self._lock:
            print(text, flush=True)

    def outcome(self, outcome: Outcome) -> None:
        state = f"{outcome.state:<8}"
        if self._colour:
            state = f"\033[{self.COLOURS[outcome.state]}m{state}\033[0m"
        said = (f"{outcome.reason} {outcome.case}"
                if outcome.state == KILLED else outcome.reason)
        self.line(f"{state} {outcome.mutant.name:<30} "
                  f"{outcome.seconds:5.1f} s  {said}")


def clause_of(outcome: Outcome, cases: dict[str, Declared]) -> str:
    """The header's, or for a generated mutant the first of its killer."""
    case = cases.get(outcome.case)
    if outcome.mutant.clause != "?" or case is None:
        return outcome.mutant.clause
    return case.clause


def report_map(console: Console, outcomes: list[Outcome]) -> None:
    """The map clause <-> case <-> mutant of the named ones."""
    rows = sorted((outcome.mutant.clause, outcome.case or
                   outcome.mutant.killer, outcome.mutant.name, outcome.state)
                  for outcome in outcomes if outcome.mutant.fault is None)
    heads = ("clause", "case", "mutant", "state")
    widths = [max(len(row[i]) for row in [heads, *rows]) for i in range(4)]
    console.line("")
    for row in [heads, *rows]:
        cells = [cell.ljust(width) for cell, width in zip(row, widths)]
        console.line("  ".join(cells).rstrip())


def kills_of(outcomes: list[Outcome],
             cases: dict[str, Declared]) -> set[tuple[str, str]]:
    """(case without its transport, mutant) as far as this run has seen."""
    return {(base_of(case), outcome.mutant.name) for outcome in outcomes
            if outcome.state == KILLED
            for case, verdict in outcome.row.items()
            if verdict in STRIKES and case in cases}


def write_kills(path: Path, outcomes: list[Outcome],
                cases: dict[str, Declared]) -> None:
    """The table of proofs: the same kills give the same bytes. Named mutants
    come first; a case that many mutants fall to needs no longer list."""
    unreached = [outcome.mutant.name for outcome in outcomes
                 if outcome.state == UNREACHED]
    if unreached:
        raise Trouble("the table of proofs needs every tool: "
                      f"{', '.join(unreached)} is out of reach")
    generated = {outcome.mutant.name for outcome in outcomes
                 if outcome.mutant.fault is not None}
    kills: dict[str, set[str]] = {}
    for case, mutant in kills_of(outcomes, cases):
        kills.setdefault(case, set()).add(mutant)
    lines = []
    for case, names in sorted(kills.items()):
        listed = sorted(names, key=lambda name: (name in generated, name))
        lines.append(f"{case}\t{' '.join(listed[:PROOFS_LISTED])}\n")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(lines), encoding="utf-8")


def report_claims(console: Console, outcomes: list[Outcome],
                  cases: dict[str, Declared], known: set[str],
                  only: str | None) -> int:
    """How many of the cases' claims to kill a mutant do not hold."""
    kills = kills_of(outcomes, cases)
    judged = {outcome.mutant.name for outcome in outcomes
              if outcome.state == KILLED}
    claims = sorted({(base_of(case.case), name) for case in cases.values()
                     for name in case.mutants})
    wrong = 0
    console.line("")
    for base, name in claims:
        if name not in known and (only != "named" or "/" not in name):
            console.line(f"NO SUCH MUTANT {name}, which {base} names")
            wrong += 1
        elif name in judged and (base, name) not in kills:
            console.line(f"NOT KILLED {name} by {base}, which names it")
            wrong += 1
    return wrong


def report_unproven(console: Console, outcomes: list[Outcome],
                    cases: dict[str, Declared], whole: bool) -> None:
    """Cases that killed nothing, by name after a full run."""
    bases = sorted({base_of(case) for case in cases})
    killers = {base for base, _ in kills_of(outcomes, cases)}
    idle = [base for base in bases if base not in killers]
    console.line(f"UNPROVEN: {len(idle)} of {len(bases)} case(s) killed no "
                 "mutant in this run")
    for base in idle if whole else []:
        console.line(f"  UNPROVEN {base}")


def write_report(out: Path, outcomes: list[Outcome]) -> None:
    """OUT/mutants.json."""
    rows = [{"mutant": outcome.mutant.name, "clause": outcome.mutant.clause,
             "killer": outcome.mutant.killer, "case": outcome.case,
             "state": outcome.state, "reason": outcome.reason,
             "why": outcome.mutant.why,
             "seconds": round(outcome.seconds, 3)} for outcome in outcomes]
    out.mkdir(parents=True, exist_ok=True)
    (out / "mutants.json").write_text(
        json.dumps(rows, indent=1) + "\n", encoding="utf-8")


def _as_json(mutant: Mutant) -> dict[str, object]:
    kind = "named"
    if mutant.fault is not None or "/" in mutant.name:
        kind = "generated" if mutant.killer != "?" else "equivalent"
    return {"name": mutant.name, "kind": kind, "clause": mutant.clause,
            "killer": mutant.killer, "verdict": mutant.verdict,
            "words": mutant.words, "subject": list(mutant.subjects),
            "also": mutant.also, "why": mutant.why,
            "trouble": mutant.trouble}


def list_mutants(console: Console, mutants: list[Mutant],
                 how: str) -> int:
    if how == "json":
        console.line(json.dumps([_as_json(mutant) for mutant in mutants],
                                indent=1))
    for mutant in mutants if how != "json" else []:
        killer = (mutant.killer if mutant.killer != "?"
                  else mutant.why)
        console.line(f"{mutant.name:<30} {mutant.clause:<28} {killer}")
        for trouble in mutant.trouble:
            console.line(f"  BROKEN {trouble}")
    return 3 if any(mutant.trouble for mutant in mutants) else 0


def conclude(console: Console, outcomes: list[Outcome], looked_again: list[str],
             broken_claims: int, unjudged: int) -> int:
    """The closing lines and the exit code; `unjudged` rest on their
    annotation. What failed is named here too: a log may keep only its end."""
    states = [outcome.state for outcome in outcomes]
    passed = states.count(KILLED) + states.count(EQUIVALENT)
    unreached = states.count(UNREACHED)
    failed = len(states) - passed - unreached + broken_claims
    console.line("")
    for text in looked_again:
        console.line(f"looked at again: {text}")
    for outcome in outcomes:
        if outcome.state in (SURVIVED, BROKEN):
            console.line(f"{outcome.state} {outcome.mutant.name}: "
                         f"{outcome.reason}")
    if failed:
        console.line(f"{states.count(SURVIVED)} SURVIVED, "
                     f"{states.count(BROKEN)} BROKEN, {broken_claims} "
                     "claim(s) that do not hold")
    if unjudged:
        console.line(f"{unjudged} equivalent by annotation: a full run puts "
                     "them to the test")
    if unreached:
        console.line(f"{unreached} out of reach: this machine lacks what the "
                     "case needs")
    console.line(f"{passed} passed, {failed} failed, "
                 f"{unjudged + unreached} skipped")
    if SURVIVED in states:
        return 1
    return 3 if failed else 0
