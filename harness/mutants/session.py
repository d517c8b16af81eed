# SPDX-License-Identifier: MIT OR Apache-2.0
"""One run of the driver: control, mutants side by side, second looks."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

from judge import (BROKEN, FULL_TIMEOUT_S, HANG_SCALE, KILLED, OTHER_WORDS,
                   PASSED_BY_KILLER, SURVIVED, UNREACHED, Declared, Judge, Outcome, Request,
                   RunResult, base_of, hits, judge)
from models import ModelRoom
from patches import VERDICTS as STRIKES
from patches import Mutant
from report import Console
from workshop import WAYS, Trouble, Workshop

CASES_AT_ONCE = 2
SECOND_LOOKS = 3
BY_CASES = ("so", "a", "tsan", "header", "go")


class Session:
    """What all mutants of a run share."""

    def __init__(self, judge_: Judge, shop: Workshop, console: Console,
                 jobs: int) -> None:
        self.judge = judge_
        self.shop = shop
        self.console = console
        self.jobs = jobs
        self.cases: dict[str, Declared] = {}
        self.refused = ""
        self.unreached: set[str] = set()
        self.looked_again: list[str] = []
        self.models = ModelRoom(shop.source / "runtime/tests/models",
                                shop.folder / "models")

    def prepare(self, kinds: set[str], programs: set[str] | None) -> None:
        """Builds the unchanged runtime in these ways; None: all programs."""
        if programs is None:
            tests = self.shop.source / "runtime/tests"
            programs = {path.stem for path in tests.glob("test_*.c")}
        products = self.shop.build_pristine(kinds, programs)
        self.judge.plain = products["so"]

    def known_killers(self, mutants: list[Mutant]) -> None:
        """A killer that nobody bears is trouble before anything is built."""
        for mutant in mutants:
            if mutant.trouble:
                continue
            if "model" in mutant.subjects:
                mutant.trouble += self.models.trouble(mutant)
                continue
            if mutant.subjects[0].startswith("unit"):
                name = mutant.killer.partition(":")[0]
                source = f"runtime/tests/{name}.c"
                if not (self.shop.source / source).is_file():
                    mutant.trouble.append(f"there is no {source}")
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
        sound = [mutant for mutant in mutants if not mutant.trouble]
        kinds = {kind for mutant in sound for kind in mutant.subjects
                 if kind in WAYS or kind == "go"}
        programs = {mutant.killer.partition(":")[0] for mutant in sound
                    if mutant.subjects[0].startswith("unit")}
        self.prepare(kinds, programs)
        failed: list[str] = []
        for kind in sorted(kinds):
            killers = sorted({pattern for mutant in sound
                              if kind in mutant.subjects
                              for pattern in self.patterns(mutant)})
            failed += self._control_of(kind, killers)
        return "; ".join(failed)

    def _control_of(self, kind: str, killers: list[str]) -> list[str]:
        product = self.shop.product(self.shop.pristine, kind)
        runs = [killers] if kind in BY_CASES else [[it] for it in killers]

        def run(filters: list[str]) -> RunResult:
            out = self.shop.pristine / f"run-{kind}"
            if kind not in BY_CASES:
                out = out / filters[0].replace(":", "-")
            return self.judge.run(kind, product, out, Request(
                filters, self.jobs, FULL_TIMEOUT_S, prove_itself=True))

        with ThreadPoolExecutor(self.jobs) as pool:
            results = list(pool.map(run, runs))
        failed = [f"{case.case} is {case.verdict} on the lib{kind}"
                  for result in results for case in result.cases.values()
                  if case.verdict not in ("PASS", UNREACHED)]
        self.unreached |= {case.case for result in results
                           for case in result.cases.values()
                           if case.verdict == UNREACHED}
        ran = sum(len(result.cases) for result in results)
        codes = sorted({result.code for result in results})
        said = ", ".join(str(code) for code in codes)
        name = "package" if kind == "go" else f"lib{kind}"
        self.console.line(f"control  the unchanged {name}: "
                          f"{ran} case(s), exit code {said}")
        if codes != [0] and not failed:
            failed.append(f"exit code {said} on the lib{kind}")
        return failed

    def _killer_unreached(self, mutant: Mutant) -> str:
        """The killer, when this machine lacks what it needs; else ''."""
        cases = {case for case in self.cases if hits(mutant.killer, case)}
        return mutant.killer if cases and cases <= self.unreached else ""

    def one(self, mutant: Mutant) -> Outcome:
        """Builds and judges one mutant; never raises for its faults."""
        start = time.monotonic()
        outcome = Outcome(mutant, BROKEN, "; ".join(mutant.trouble))
        if not mutant.trouble and self._killer_unreached(mutant):
            outcome.state = UNREACHED
            outcome.reason = (f"{mutant.killer} is out of reach on the "
                              "unchanged runtime")
        elif not mutant.trouble:
            try:
                if "model" in mutant.subjects:
                    self._by_model(outcome)
                else:
                    self._judge_kinds(outcome)
            except Trouble as trouble:
                outcome.state, outcome.reason = BROKEN, str(trouble)
            self.shop.tidy(mutant)
        outcome.seconds = time.monotonic() - start
        self.console.outcome(outcome)
        return outcome

    def _by_model(self, outcome: Outcome) -> None:
        outcome.case = outcome.mutant.killer
        outcome.state, outcome.reason = self.models.judge(outcome.mutant)

    def _judge_kinds(self, outcome: Outcome) -> None:
        mutant = outcome.mutant
        scale = HANG_SCALE if mutant.verdict == "HANG" else 1.0
        for kind, product in self.shop.build(mutant).items():
            out = self.shop.tree(mutant) / f"run-{kind}"
            asked = Request(self.patterns(mutant), CASES_AT_ONCE, scale=scale)
            for attempt in range(mutant.attempts):
                result = self.judge.run(kind, product, out, asked)
                outcome.state, outcome.reason, outcome.case = judge(mutant,
                                                                    result)
                outcome.note(result, attempt)
                if outcome.state != SURVIVED:
                    break
            if outcome.state == SURVIVED and kind in BY_CASES:
                self._who_else(outcome, kind)
            if outcome.state != KILLED:
                return

    def _who_else(self, outcome: Outcome, kind: str) -> None:
        """A mutant that only another case finds is BROKEN, no survivor."""
        tree = self.shop.tree(outcome.mutant)
        product = (tree / "runtime/include/gusset.h" if kind == "header"
                   else self.shop.product(tree, kind))
        every = sorted(case.case for case in self.cases.values() if case.go)
        result = self.judge.run(kind, product, tree / f"full-{kind}",
                                Request(every if kind == "go" else [],
                                        self.jobs, FULL_TIMEOUT_S))
        struck = [case for case in result.cases.values()
                  if case.verdict in STRIKES]
        if struck:
            outcome.state = BROKEN
            outcome.reason = (f"{PASSED_BY_KILLER}: {struck[0].case} "
                              f"{struck[0].verdict}; {outcome.case} passed")

    def judge_all(self, mutants: list[Mutant]) -> list[Outcome]:
        """The control first; then side by side, but a case that must be
        alone really is."""
        try:
            self.cases = self.judge.declared()
            self.known_killers(mutants)
            self.refused = self.control(mutants)
        except Trouble as trouble:
            self.refused = str(trouble)
        if self.refused:
            self.console.line(f"control  {self.refused}")
            for mutant in mutants:
                mutant.trouble.append(f"control: {self.refused}")
            return [self.one(mutant) for mutant in mutants]
        single = [mutant for mutant in mutants if self.alone(mutant)]
        together = [mutant for mutant in mutants if mutant not in single]
        with ThreadPoolExecutor(self.jobs) as pool:
            outcomes = list(pool.map(self.one, together))
        outcomes += [self.one(mutant) for mutant in single]
        return [self._second_look(outcome) for outcome in outcomes]

    def _second_look(self, outcome: Outcome) -> Outcome:
        """A loaded machine may find a fault at another check first, or too late
        to be judged: what is BROKEN is judged again with nothing beside it, and
        the closing lines name it. That the named case passed stands: only
        `Attempts` in the header says that a case may pass a fault."""
        first = outcome
        looks = 0
        while (outcome.state == BROKEN and not outcome.mutant.trouble
               and not outcome.reason.startswith(PASSED_BY_KILLER)
               and looks < (SECOND_LOOKS if outcome.reason.startswith(
                   OTHER_WORDS) else 1)):
            looks += 1
            outcome = self.one(outcome.mutant)
        if looks and outcome.state == KILLED:
            outcome.reason += f" (look {looks + 1})"
            self.looked_again.append(f"{first.mutant.name}: {first.state}, "
                                     f"{first.reason}; then {outcome.state}")
        return outcome
