#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""
Plants each fault of this folder into a copy of the reference runtime and asks
gusset-conform to find it. How to add one, and what the words mean: README.md.

Exit codes: 0 every mutant killed, 1 one survived, 2 usage, 3 not judged (a
BROKEN mutant, or the unchanged runtime fails a killer case).
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import os
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.dont_write_bytecode = True

from judge import (BROKEN, FULL_TIMEOUT_S, KILLED, OTHER_WORDS, SURVIVED,
                   Declared, Judge, Outcome, base_of, hits, judge)
from patches import VERDICTS as STRIKES
from patches import Mutant, load_all
from workshop import Trouble, Workshop

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent

# The judge proves itself first and then mostly waits.
RUNS_PER_CPU = 3
CASES_AT_ONCE = 2
SECOND_LOOKS = 3


class UsageError(Exception):
    """What is wrong with the command line; one line."""


class Console:
    """Whole lines from several threads; colour only on a terminal."""

    COLOURS = {KILLED: "32", SURVIVED: "31;1", BROKEN: "35;1"}

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


def parse_arguments(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="mutants.py", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME",
                        help="names or globs; all by default")
    parser.add_argument("--list", action="store_true",
                        help="list the mutants and end")
    parser.add_argument("--full", action="store_true",
                        help="run all cases against each mutant and write "
                        "the kill matrix, OUT/matrix.json")
    parser.add_argument("--jobs", type=int,
                        default=RUNS_PER_CPU * (os.cpu_count() or 1),
                        help="mutants at a time (default: "
                        f"{RUNS_PER_CPU} for each processor)")
    parser.add_argument("--conform", type=Path,
                        default=ROOT / "build/bin/gusset-conform",
                        help="the judge (default build/bin/gusset-conform)")
    parser.add_argument("--patches", type=Path, default=HERE,
                        help="the folder of patches (default: this one)")
    parser.add_argument("--source", type=Path, default=ROOT,
                        help="the checkout to mutate (default: this one)")
    parser.add_argument("--out", type=Path, default=ROOT / "build/mutants",
                        help="where to build and report")
    parser.add_argument("--timeout-scale", default="1",
                        help="as for gusset-conform")
    options = parser.parse_args(words)
    if options.jobs < 1:
        parser.error("--jobs must be at least 1")
    return options


def choose(mutants: list[Mutant], names: list[str]) -> list[Mutant]:
    """The mutants that any name or glob selects; each must select one."""
    if not mutants:
        raise UsageError("the folder holds no *.patch")
    for name in names:
        if not fnmatch.filter([mutant.name for mutant in mutants], name):
            raise UsageError(f"no mutant is named {name}")
    return [mutant for mutant in mutants if not names
            or any(fnmatch.fnmatchcase(mutant.name, name) for name in names)]


class Session:
    """One run of this program."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.full: bool = options.full
        self.jobs: int = options.jobs
        self.out: Path = options.out.resolve()
        self.console = Console()
        self.shop = Workshop(options.source.resolve(), self.out, options.jobs)
        self.judge = Judge(options.conform.resolve(), ROOT,
                           options.timeout_scale)
        self.cases: dict[str, Declared] = {}

    def known_killers(self, mutants: list[Mutant]) -> None:
        """A killer that no case bears is trouble before anything is built."""
        for mutant in mutants:
            if mutant.trouble:
                continue
            for pattern in (mutant.killer, *mutant.also):
                if not any(hits(pattern, case) for case in self.cases):
                    mutant.trouble.append(f"there is no case {pattern}")

    def patterns(self, mutant: Mutant) -> list[str]:
        """The killer, the cases of Also, and those that name the mutant."""
        claimants = {base_of(case.case) for case in self.cases.values()
                     if mutant.name in case.mutants}
        return sorted({mutant.killer, *mutant.also, *claimants})

    def alone(self, mutant: Mutant) -> bool:
        """A case that must run alone judges this mutant."""
        patterns = self.patterns(mutant)
        return any(case.alone and hits(pattern, case.case)
                   for case in self.cases.values() for pattern in patterns)

    def control(self, mutants: list[Mutant]) -> str:
        """What the unchanged runtime fails of the killer cases, or ''."""
        libraries = self.shop.build_pristine()
        failed: list[str] = []
        for kind, library in libraries.items():
            killers = sorted({pattern for mutant in mutants
                              if not mutant.trouble
                              and kind in mutant.subjects
                              for pattern in self.patterns(mutant)})
            if not killers and not self.full:
                continue
            out = self.out / "pristine" / f"run-{kind}"
            result = self.judge.run(library, [] if self.full else killers,
                                    out, self.jobs, FULL_TIMEOUT_S)
            failed += [f"{case.case} is {case.verdict} on the lib{kind}"
                       for case in result.cases.values()
                       if case.verdict != "PASS" and any(
                           hits(killer, case.case) for killer in killers)]
            ran = len(result.cases)
            self.console.line(f"control  the unchanged lib{kind}: "
                              f"{ran} case(s), exit code {result.code}")
            if result.code not in (0, 1) or (result.code and not failed
                                             and not self.full):
                failed.append(f"exit code {result.code} on the lib{kind}")
        return "; ".join(failed)

    def one(self, mutant: Mutant) -> Outcome:
        """Builds and judges one mutant; never raises for its faults."""
        start = time.monotonic()
        outcome = Outcome(mutant, BROKEN, "; ".join(mutant.trouble))
        if not mutant.trouble:
            try:
                self._judge_kinds(outcome)
            except Trouble as trouble:
                outcome.state, outcome.reason = BROKEN, str(trouble)
            self.shop.tidy(mutant)
        outcome.seconds = time.monotonic() - start
        self.console.outcome(outcome)
        return outcome

    def _judge_kinds(self, outcome: Outcome) -> None:
        mutant = outcome.mutant
        for kind, library in self.shop.build(mutant).items():
            out = self.out / mutant.name / f"run-{kind}"
            patterns = self.patterns(mutant)
            for attempt in range(mutant.attempts):
                result = self.judge.run(library, patterns, out,
                                        CASES_AT_ONCE)
                outcome.state, outcome.reason, outcome.case = judge(mutant,
                                                                    result)
                outcome.note(result, attempt)
                if outcome.state != SURVIVED:
                    break
            if outcome.state == SURVIVED:
                self._who_else(outcome, library, kind)
            if outcome.state != KILLED:
                return
            if self.full:
                self._fill_row(outcome, library, kind)

    def _who_else(self, outcome: Outcome, library: Path, kind: str) -> None:
        """A mutant that only another case finds is BROKEN, no survivor."""
        out = self.out / outcome.mutant.name / f"full-{kind}"
        result = self.judge.run(library, [], out, self.jobs, FULL_TIMEOUT_S)
        struck = [case for case in result.cases.values()
                  if case.verdict in STRIKES]
        if struck:
            outcome.state = BROKEN
            outcome.reason = (f"killed by another case: {struck[0].case} "
                              f"{struck[0].verdict}; {outcome.case} passed")

    def _fill_row(self, outcome: Outcome, library: Path, kind: str) -> None:
        out = self.out / outcome.mutant.name / f"full-{kind}"
        result = self.judge.run(library, [], out, self.jobs, FULL_TIMEOUT_S)
        outcome.row = {case.case: case.verdict
                       for case in result.cases.values()}

    def all(self, mutants: list[Mutant]) -> list[Outcome]:
        """Side by side, but a case that must be alone really is."""
        together = [mutant for mutant in mutants
                    if not self.full and not self.alone(mutant)]
        single = [mutant for mutant in mutants if mutant not in together]
        with ThreadPoolExecutor(self.jobs) as pool:
            outcomes = list(pool.map(self.one, together))
        outcomes += [self.one(mutant) for mutant in single]
        return [self._second_look(outcome) for outcome in outcomes]

    def _second_look(self, outcome: Outcome) -> Outcome:
        """The named case failed, but in other words: a loaded machine may find
        a fault at another of its checks first. Judged again with nothing
        beside it. A survivor, another case or another verdict stands: only
        `Attempts` in the header says that a case may pass a fault."""
        for look in range(SECOND_LOOKS):
            if (outcome.state != BROKEN
                    or not outcome.reason.startswith(OTHER_WORDS)):
                break
            outcome = self.one(outcome.mutant)
            outcome.reason += f" (look {look + 2})"
        return outcome


def report_map(console: Console, outcomes: list[Outcome]) -> None:
    """The map clause <-> case <-> mutant."""
    rows = sorted((outcome.mutant.clause, outcome.case or
                   outcome.mutant.killer, outcome.mutant.name, outcome.state)
                  for outcome in outcomes)
    heads = ("clause", "case", "mutant", "state")
    widths = [max(len(row[i]) for row in [heads, *rows]) for i in range(4)]
    console.line("")
    for row in [heads, *rows]:
        cells = [cell.ljust(width) for cell, width in zip(row, widths)]
        console.line("  ".join(cells).rstrip())


def report_unproven(console: Console, outcomes: list[Outcome],
                    cases: dict[str, Declared], known: set[str]) -> None:
    """Cases that killed nothing, and claims that do not hold."""
    bases = sorted({base_of(case) for case in cases})
    kills = {(base_of(case), outcome.mutant.name) for outcome in outcomes
             for case, verdict in outcome.row.items() if verdict in STRIKES
             if outcome.state == KILLED}
    killers = {base for base, _ in kills}
    idle = [base for base in bases if base not in killers]
    console.line("")
    console.line(f"UNPROVEN: {len(idle)} of {len(bases)} case(s) killed no "
                 "mutant in this run")
    whole = {outcome.mutant.name for outcome in outcomes} >= known
    for base in idle if whole else []:
        console.line(f"  UNPROVEN {base}")
    judged = {outcome.mutant.name for outcome in outcomes
              if outcome.state == KILLED}
    claims = sorted({(base_of(case.case), name) for case in cases.values()
                     for name in case.mutants})
    for base, name in claims:
        if name not in known:
            console.line(f"  NO SUCH MUTANT {name}, which {base} names")
        elif name in judged and (base, name) not in kills:
            console.line(f"  NOT KILLED {name} by {base}, which names it")


def write_report(out: Path, outcomes: list[Outcome], full: bool) -> None:
    """OUT/mutants.json and, after --full, OUT/matrix.json."""
    rows = [{"mutant": outcome.mutant.name, "clause": outcome.mutant.clause,
             "killer": outcome.mutant.killer, "case": outcome.case,
             "state": outcome.state, "reason": outcome.reason,
             "why": outcome.mutant.why,
             "seconds": round(outcome.seconds, 3)} for outcome in outcomes]
    out.mkdir(parents=True, exist_ok=True)
    (out / "mutants.json").write_text(
        json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    if full:
        matrix = {outcome.mutant.name: outcome.row for outcome in outcomes}
        (out / "matrix.json").write_text(
            json.dumps(matrix, indent=1, sort_keys=True) + "\n",
            encoding="utf-8")


def list_mutants(console: Console, mutants: list[Mutant]) -> int:
    for mutant in mutants:
        console.line(f"{mutant.name:<30} {mutant.clause:<28} "
                     f"{mutant.killer}")
        for trouble in mutant.trouble:
            console.line(f"  BROKEN {trouble}")
    return 3 if any(mutant.trouble for mutant in mutants) else 0


def conclude(console: Console, outcomes: list[Outcome]) -> int:
    """The last line and the exit code."""
    states = [outcome.state for outcome in outcomes]
    killed = states.count(KILLED)
    console.line("")
    if killed != len(states):
        console.line(f"{states.count(SURVIVED)} SURVIVED, "
                     f"{states.count(BROKEN)} BROKEN")
    console.line(f"{killed} passed, {len(states) - killed} failed, 0 skipped")
    if SURVIVED in states:
        return 1
    return 3 if BROKEN in states else 0


def work(options: argparse.Namespace) -> int:
    everything = load_all(options.patches)
    mutants = choose(everything, options.names)
    session = Session(options)
    console = session.console
    if options.list:
        return list_mutants(console, mutants)
    if not session.judge.program.is_file():
        raise UsageError(f"there is no judge {options.conform}; "
                         "`make mutants` builds it")
    try:
        session.cases = session.judge.declared()
        session.known_killers(mutants)
        refused = session.control(mutants)
    except Trouble as trouble:
        refused = str(trouble)
    if refused:
        console.line(f"control  {refused}")
        for mutant in mutants:
            mutant.trouble.append(f"control: {refused}")
        outcomes = [session.one(mutant) for mutant in mutants]
    else:
        outcomes = session.all(mutants)
    report_map(console, outcomes)
    report_unproven(console, outcomes, session.cases,
                    {mutant.name for mutant in everything})
    write_report(session.out, outcomes, options.full)
    return conclude(console, outcomes)


def main(words: list[str]) -> int:
    options = parse_arguments(words)
    try:
        return work(options)
    except UsageError as error:
        print(f"mutants.py: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("mutants.py: interrupted", file=sys.stderr)
        return 3


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
