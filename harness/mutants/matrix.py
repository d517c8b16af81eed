# SPDX-License-Identifier: MIT OR Apache-2.0
"""
The kill matrix: every case against every mutant, races with a sixteenth of
their rounds (a survey: what passes there might kill with more of them), an
annotated mutant with all of them. A cell counts as a kill when the case struck
twice; a hang counts when it is the mutant's named killer or was seen once more
alone, with all patience. What is known is not run again.
"""

from __future__ import annotations

import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from judge import (BROKEN, EQUIVALENT, INDEPENDENT, KILLED, Declared, Outcome,
                   Request, RunResult, base_of, hits)
from memory import Cell, Memory
from patches import VERDICTS as STRIKES
from patches import Mutant
from session import Session
from workshop import Trouble, Unchanged, substance

MUTANTS_AT_ONCE = 3
CASES_AT_ONCE = 4
PATIENCE = 0.25
ROW_S = 240
CONFIRMED_AT_MOST = 40
ALONE_AT_MOST = 3
FLAPS = "FLAPS"
# Run where the mutant's killer is among them only: linking with others sees the
# symbols, which few mutants change, and this close waits for 30 seconds.
APART = ("a.links-with-others.*", "l.close-budget.engine-stays*")


def kind_of(mutant: Mutant) -> str:
    """What one build stands for all subjects of the mutant."""
    if mutant.subjects in (("a",), ("go",)):
        return mutant.subjects[0]
    return "so"


class Matrix:
    """Fills and writes OUT/matrix.json."""

    def __init__(self, session: Session, cache: Path) -> None:
        self.session = session
        self.memory = Memory(cache, session.judge.root,
                             session.judge.program)
        self.rows: dict[str, dict[str, Cell]] = {}
        self.wanted = {name: case for name, case in session.cases.items()
                       if not case.once}
        # A fault of the library meets the cases in Go that its header names;
        # a fault of the Go package meets all of those, and no others.
        self.of_go = {name: case for name, case in self.wanted.items()
                      if case.go}
        self.of_library = {name: case for name, case in self.wanted.items()
                           if not case.go}
        self._lock = threading.Lock()
        self._proofs: dict[str, int] = {}
        self._done = 0

    def fill(self, outcomes: list[Outcome],
             equivalent: list[Mutant]) -> list[Outcome]:
        """All rows; returns what the annotated mutants came to."""
        start = time.monotonic()
        killed = [outcome.mutant for outcome in outcomes
                  if outcome.state == KILLED
                  and "header" not in outcome.mutant.subjects]
        self.session.console.line(
            f"matrix   {len(killed) + len(equivalent)} mutant(s), "
            f"{len(self.wanted)} case(s)")
        with ThreadPoolExecutor(MUTANTS_AT_ONCE) as pool:
            list(pool.map(self._row, killed))
            more = list(pool.map(self._equivalent, equivalent))
        for outcome in outcomes:
            self._note(outcome)
        self._hangs(outcomes)
        self._write(outcomes + more)
        self.session.console.line(
            f"matrix   done in {time.monotonic() - start:.0f} s")
        return more

    def _row(self, mutant: Mutant,
             effort: str = "survey") -> dict[str, Cell]:
        """The row of one mutant; empty when its code is the pristine one or
        cannot be had."""
        start = time.monotonic()
        kind = kind_of(mutant)
        row: dict[str, Cell] = {}
        ran = 0
        try:
            product = self.session.shop.build_as(mutant, kind)
            row, ran = self._cells(mutant, kind, product, effort)
        except Unchanged:
            pass
        except Trouble as trouble:
            self.session.console.line(f"matrix   {mutant.name}: {trouble}")
        self.session.shop.tidy(mutant)
        struck = sum(cell.verdict in STRIKES for cell in row.values())
        with self._lock:
            self.rows[mutant.name] = row
            self._done += 1
            self.session.console.line(
                f"matrix   {self._done:4} {mutant.name:<44} {struck:4} of "
                f"{len(row):4} struck, {ran} run, "
                f"{time.monotonic() - start:.1f} s")
        return row

    def _wanted(self, mutant: Mutant,
                kind: str) -> tuple[dict[str, Declared], tuple[str, ...]]:
        """The cases of the mutant's row, and what is left out of it."""
        apart = tuple(pattern for pattern in APART
                      if not hits(pattern, mutant.killer))
        every = self.of_go if kind == "go" else self.of_library
        return {name: case for name, case in every.items()
                if not any(hits(pattern, name) for pattern in apart)}, apart

    def _cells(self, mutant: Mutant, kind: str, product: Path,
               effort: str) -> tuple[dict[str, Cell], int]:
        """The row, and how many of its cells are new."""
        library = (self.memory.package(product) if kind == "go"
                   else substance(product))
        known = self.memory.load(library)
        wanted, apart = self._wanted(mutant, kind)
        missing = [name for name, case in wanted.items()
                   if name not in known
                   or known[name].digest != self.memory.digest(case, effort)]
        if missing:
            out = self.session.shop.tree(mutant) / f"matrix-{kind}"
            every = kind != "go" and len(missing) == len(wanted)
            result = self.session.judge.run(
                kind, product, out,
                Request([] if every else missing, CASES_AT_ONCE, ROW_S,
                        PATIENCE, INDEPENDENT + apart if every else (),
                        effort=effort, go=kind == "go"))
            again = self._again(kind, product, out, result)
            for name in missing:
                if name in result.cases:
                    known[name] = self._cell(name, effort, result, again)
            self.memory.save(library, known)
        row = {name: known[name] for name in wanted if name in known}
        return row, len(missing)

    def _again(self, kind: str, product: Path, out: Path,
               result: RunResult) -> RunResult:
        """Those that struck, once more; the least proven cases first."""
        struck = [name for name, case in result.cases.items()
                  if case.verdict in STRIKES and case.verdict != "HANG"]
        with self._lock:
            struck.sort(key=lambda name: (self._proofs.get(name, 0), name))
        if not struck:
            return RunResult(0, {})
        return self.session.judge.run(
            kind, product, out.with_name("matrix-again"),
            Request(struck[:CONFIRMED_AT_MOST], 2, ROW_S, 2 * PATIENCE))

    def _cell(self, name: str, effort: str, first: RunResult,
              again: RunResult) -> Cell:
        verdict, firm = first.cases[name].verdict, False
        if name in again.cases:
            firm = again.cases[name].verdict in STRIKES
            verdict = verdict if firm else FLAPS
        if firm:
            with self._lock:
                self._proofs[name] = self._proofs.get(name, 0) + 1
        return Cell(self.memory.digest(self.wanted[name], effort), verdict,
                    firm)

    def _equivalent(self, mutant: Mutant) -> Outcome:
        """An annotated mutant must be what the annotation says."""
        start = time.monotonic()
        row = self._row(mutant, "normal")
        struck = sorted(name for name, cell in row.items() if cell.firm)
        outcome = Outcome(mutant, EQUIVALENT, mutant.why)
        if struck:
            outcome.state = BROKEN
            outcome.reason = (f"annotated as equivalent, and killed by "
                              f"{struck[0]} {row[struck[0]].verdict}")
        outcome.seconds = time.monotonic() - start
        self.session.console.outcome(outcome)
        return outcome

    def _note(self, outcome: Outcome) -> None:
        """A killed mutant's own run counts too, hangs among it."""
        row = self.rows.setdefault(outcome.mutant.name, {})
        if outcome.state != KILLED:
            return
        for name, verdict in outcome.row.items():
            if verdict in STRIKES and name in self.wanted:
                row[name] = Cell(self.memory.digest(self.wanted[name],
                                                    "normal"), verdict, True)
        for name, cell in row.items():
            outcome.row.setdefault(name, cell.verdict)
            if cell.firm:
                outcome.row[name] = cell.verdict
            elif outcome.row[name] in STRIKES:
                outcome.row[name] = FLAPS

    def _hangs(self, outcomes: list[Outcome]) -> None:
        """A case that only ever hung is tried alone, with all patience."""
        proven = {base_of(name) for row in self.rows.values()
                  for name, cell in row.items() if cell.firm}
        for name in sorted(self.wanted):
            hung = [outcome for outcome in outcomes
                    if self.rows[outcome.mutant.name].get(
                        name, Cell("", "", True)).verdict == "HANG"]
            for outcome in hung[:ALONE_AT_MOST]:
                if base_of(name) in proven:
                    break
                if self._hangs_alone(outcome, name):
                    proven.add(base_of(name))

    def _hangs_alone(self, outcome: Outcome, name: str) -> bool:
        mutant = outcome.mutant
        kind = kind_of(mutant)
        try:
            product = self.session.shop.build_as(mutant, kind)
            result = self.session.judge.run(
                kind, product, self.session.shop.tree(mutant) / "alone",
                Request([name], 1, ROW_S))
        except Trouble:
            return False
        self.session.shop.tidy(mutant)
        firm = result.cases[name].verdict in STRIKES
        if firm:
            self.rows[mutant.name][name].firm = True
            outcome.row[name] = result.cases[name].verdict
        return firm

    def _write(self, outcomes: list[Outcome]) -> None:
        matrix = {outcome.mutant.name: {
            name: cell.verdict if cell.firm or cell.verdict not in STRIKES
            else f"{cell.verdict} once"
            for name, cell in sorted(
                self.rows.get(outcome.mutant.name, {}).items())}
            for outcome in outcomes}
        path = self.session.shop.folder / "matrix.json"
        path.write_text(json.dumps(matrix, indent=1, sort_keys=True) + "\n",
                        encoding="utf-8")
