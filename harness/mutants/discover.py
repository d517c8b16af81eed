# SPDX-License-Identifier: MIT OR Apache-2.0
"""
Finds a killer for a generated mutant: the quickest case that fails on it each
time, in words that are the same each time. A proposal, for a maintainer to
read; it never changes the table by itself.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

from generated import Row, change_of
from judge import CaseResult, Judge, Request, RunResult
from patches import Mutant
from workshop import Trouble, Unchanged, Workshop

# A little of everything; tried first, in this order.
FIRST = (
    "i4.inline-used.modes-0-7-10@ring", "i4.pipe-record.every-size",
    "i3.exact-texts.three-reasons@pipe")
SECOND = (
    "i4.ring-record.position-by-position", "i4.reader-gone.closed-read-end",
    "i1.close-releases-all.left-behind@ring",
    "i4.ring-attach.second-refused", "i4.full-refuses.three-times-pool@pipe")
QUICK = (
    "i1.take-once.never-issued@pipe", "i1.take-once.second-take@pipe",
    "i1.take-small.sizes@pipe", "i1.input-sources.pointer-or-buffer@pipe",
    "i1.free-under-job.queued-and-running@pipe",
    "i1.check-order.null-then-poison-then-rest@pipe",
    "i2.poison-latch.for-ever@pipe", "i3.cancel.running-and-queued@pipe",
    "i4.ring-attach.geometry", "i4.ring-overflow.equals-pipe-completions",
    "i4.ring-wake.one-token-per-wait", "i4.ring-quiet.no-byte-in-the-pipe",
    "i4.ring-outlives-close.release-before-close",
    "i4.exactly-once.many-producers@ring",
    "i4.queue-order.first-in-first-out@pipe", "i4.open-args.bad-descriptors",
    "i4.pool-ceiling.over-is-refused", "i4.pool-ceiling.zero-means-four",
    "i4.open-refusal-clean.nothing-stays", "i4.pipe-capacity.grown-to-pool",
    "i4.reader-gone.ring-overflow", "i4.unknown-flags.each-bit@pipe",
    "i4.eof-at-close.after-the-last-record@pipe",
    "l.close-cancels.queued-never-run", "l.close-full-pipe.nobody-reads@pipe")
# What looks at the header, or would only be slow.
NEVER = ("i6.header-compiles.*", "i6.self-report-true.*")
# The unit tests that drive a file's functions themselves.
UNIT = {"queue.c": ("test_queue", "test_fault"),
        "ring.c": ("test_ring", "test_fault"),
        "completion.c": ("test_completion", "test_ring", "test_fault"),
        "handle.c": ("test_fault", "test_pool")}
# Where threads meet, and quickly under ThreadSanitizer.
THREADS = ("i4.exactly-once.many-producers", "i4.ring-record.*",
           "i4.ring-overflow.*", "i4.ring-attach.during-traffic",
           "i4.ring-outlives-close.*", "i4.completion-order.a-*",
           "i4.completion-order.d-*", "i1.take-small.sizes",
           "i3.cancel.running-and-queued", "i3.cancel-all.*",
           "i2.storm.in-flight", "i1.close-releases-all.in-flight",
           "i4.reader-gone.*", "i2.poison-latch.*")
LOOKS = 2
STEPS = {"plain": ("so", "unit", "unit-asan"),
         "order": ("so", "unit-tsan", "tsan")}
WORTH = {"FAIL": 0, "LEAK": 1, "CRASH": 2, "HANG": 3}
FIRM = re.compile(r"[^0-9'\"`\s][^0-9'\"`\n\t]{7,}")


@dataclass
class Found:
    """What a search came to."""

    mutant: Mutant
    row: Row | None
    said: str


def words_of(case: CaseResult) -> str:
    """A part of the failure that has no changing numbers in it."""
    for said in ("data race", "heap-buffer-overflow"):
        if said in case.text:
            return said
    hung = re.match(r"no end within [0-9.]+ s, ([^(]{8,})", case.reason)
    if hung:
        return hung.group(1).strip()
    if re.fullmatch(r"[^0-9\n\t]{4,}", case.reason):
        return case.reason
    for text in (case.reason, case.expression):
        parts = FIRM.findall(text)
        if parts:
            return max(parts, key=len).strip()
    return (case.expression or case.reason)[:60]


def rank(case: CaseResult) -> tuple[int, bool, float, str]:
    return (WORTH[case.verdict], len(words_of(case)) < 12, case.seconds,
            case.case)


def narrowed(case: CaseResult, kind: str) -> CaseResult:
    """Of a unit test program only the case that failed."""
    match = re.search(r":[FE]:([^:]+):\w+:\d+: ", case.text)
    if not kind.startswith("unit") or not match:
        return case
    return replace(case, case=f"{case.case}:{match.group(1)}")


class Search:
    """Looks for killers, with one judge and one workshop."""

    def __init__(self, judge: Judge, shop: Workshop, root: Path,
                 quick: bool, cases: list[str]) -> None:
        self.judge = judge
        self.quick = quick
        self.cases = cases
        self.shop = shop
        self.root = root

    def one(self, mutant: Mutant) -> Found:
        """Never raises for what is wrong with the mutant."""
        operator = mutant.name.split("/")[2]
        steps = STEPS["order" if operator.startswith("order") else "plain"]
        said = []
        for kind in steps:
            try:
                row, why = self._by(mutant, kind)
            except Trouble as trouble:
                row, why = None, str(trouble)
            if row is not None:
                return Found(mutant, row, why)
            said.append(f"{kind}: {why}")
        return Found(mutant, None, "; ".join(said))

    def _built(self, mutant: Mutant, kind: str) -> Path | None:
        mutant.fields["Subject"] = kind
        mutant.fields["Killer"] = ""
        programs = {"so": set(), "tsan": set()}.get(kind)
        try:
            return self.shop.build(mutant, programs if programs is not None
                                   else set(self._units(mutant, kind)))[kind]
        except Unchanged:
            return None

    def _units(self, mutant: Mutant, kind: str) -> list[str]:
        programs = UNIT.get(mutant.name.split("/")[0], ())
        return [name for name in programs
                if not (kind != "unit" and name == "test_fault")
                and self.root.joinpath(f"runtime/tests/{name}.c").is_file()]

    def _requests(self, mutant: Mutant, kind: str) -> list[Request]:
        if self.cases and kind in ("so", "tsan"):
            return [Request(self.cases, 4, 300, 0.3)]
        if kind == "so":
            few = [Request(list(some), 3, 120, 0.15)
                   for some in (FIRST, SECOND, QUICK)]
            return few if self.quick else few + [
                Request([], 6, 400, 0.25, NEVER + FIRST + SECOND + QUICK)]
        if kind == "tsan":
            return [Request(list(THREADS), 4, 300, 0.5)]
        return [Request([name], 1) for name in self._units(mutant, kind)]

    def _by(self, mutant: Mutant, kind: str) -> tuple[Row | None, str]:
        product = self._built(mutant, kind)
        if product is None:
            return None, "the same code"
        out = self.shop.tree(mutant) / f"discover-{kind}"
        why = "nothing failed"
        for asked in self._requests(mutant, kind):
            struck = self._struck(self.judge.run(kind, product, out, asked))
            for case in struck[:4]:
                row = self._firm(mutant, kind, product, case)
                if row is not None:
                    return row, "found"
                why = f"{case.case} {case.verdict} now and then"
        return None, why

    @staticmethod
    def _struck(result: RunResult) -> list[CaseResult]:
        return sorted((case for case in result.cases.values()
                       if case.verdict in WORTH and
                       (case.verdict != "HANG" or case.clause)), key=rank)

    def _firm(self, mutant: Mutant, kind: str, product: Path,
              case: CaseResult) -> Row | None:
        """The row, if that case fails so every time."""
        case = narrowed(case, kind)
        words = words_of(case)
        out = self.shop.tree(mutant) / "discover-firm"
        for _ in range(LOOKS):
            again = self.judge.run(kind, product, out,
                                   Request([case.case], 1, 120, 0.3))
            seen = again.cases.get(case.case)
            if (seen is None or seen.verdict != case.verdict
                    or words not in seen.text or not words.strip()):
                return None
        build = "plain" if kind == "so" else kind
        site = mutant.fault.site  # type: ignore[union-attr]
        return Row(mutant.name, build, case.case, case.verdict, words,
                   change_of(site), 0)
