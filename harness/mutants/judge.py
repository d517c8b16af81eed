# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs gusset-conform against a library and reads what it found."""

from __future__ import annotations

import fnmatch
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from patches import VERDICTS, Mutant
from workshop import Trouble, last_line, run

RUN_TIMEOUT_S = 180
OTHER_WORDS = "other words"
FULL_TIMEOUT_S = 1200
KILLED, SURVIVED, BROKEN = "KILLED", "SURVIVED", "BROKEN"


@dataclass(frozen=True)
class CaseResult:
    """One line of results.json, as far as a mutant is judged by it."""

    case: str
    verdict: str
    clause: str
    text: str


@dataclass(frozen=True)
class RunResult:
    """A whole run of the judge."""

    code: int
    cases: dict[str, CaseResult]


@dataclass(frozen=True)
class Declared:
    """A case as `gusset-conform list` knows it."""

    case: str
    clause: str
    alone: bool
    mutants: tuple[str, ...]


def base_of(case: str) -> str:
    """The case's id without its transport."""
    return case.split("@", 1)[0]


def hits(pattern: str, case: str) -> bool:
    """As gusset-conform selects: a glob on the id, or on it without @..."""
    return (fnmatch.fnmatchcase(case, pattern)
            or fnmatch.fnmatchcase(base_of(case), pattern))


@dataclass
class Outcome:
    """What became of one mutant."""

    mutant: Mutant
    state: str
    reason: str
    case: str = ""
    seconds: float = 0.0
    row: dict[str, str] = field(default_factory=dict)

    def note(self, result: RunResult, attempt: int) -> None:
        """Keeps each case's worst verdict of all attempts."""
        for case in result.cases.values():
            if self.row.get(case.case, "PASS") == "PASS":
                self.row[case.case] = case.verdict
        if attempt > 0:
            self.reason += f" (attempt {attempt + 1})"


def _texts(value: Any) -> list[str]:
    """Every text inside a JSON value, depth first."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for item in value.values() for text in _texts(item)]
    if isinstance(value, list):
        return [text for item in value for text in _texts(item)]
    return []


def _first_clause(record: dict[str, Any]) -> str:
    clauses = record.get("clauses", record.get("clause", ""))
    if isinstance(clauses, list):
        clauses = clauses[0] if clauses else ""
    return str(clauses).split()[0] if str(clauses).split() else ""


def _parse_case(record: dict[str, Any]) -> CaseResult:
    """The failure's own texts; the case's declaration is no evidence."""
    declared = ("id", "clauses", "clause", "why", "steps", "expected",
                "mutant", "rerun", "evidence", "subject")
    said = {key: value for key, value in record.items() if key not in declared}
    return CaseResult(str(record["id"]), str(record["verdict"]),
                      _first_clause(record), "\n".join(_texts(said)))


class Judge:
    """gusset-conform, the program at `program`."""

    def __init__(self, program: Path, root: Path, timeout_scale: str) -> None:
        self.program = program
        self.root = root
        self.timeout_scale = timeout_scale

    def declared(self) -> dict[str, Declared]:
        """All cases by id."""
        done = run([str(self.program), "list", "--format", "jsonl"],
                   self.root, 60)
        if done.code != 0:
            raise Trouble(f"gusset-conform list: {last_line(done.output)}")
        cases: dict[str, Declared] = {}
        for line in done.output.splitlines():
            if not line.startswith("{"):
                continue
            record = json.loads(line)
            tags = record.get("tags", [])
            names = str(record.get("mutant") or "").replace(",", " ").split()
            cases[record["id"]] = Declared(
                record["id"], _first_clause(record), "alone" in tags,
                tuple(names))
        if not cases:
            raise Trouble("gusset-conform list names no case")
        return cases

    def run(self, library: Path, filters: list[str], out: Path,
            jobs: int, seconds: float = RUN_TIMEOUT_S) -> RunResult:
        """Judges one library; Trouble when there is no judgement to read."""
        command = [str(self.program), "run",
                   "--impl", str(library), "--out", str(out),
                   "--jobs", str(jobs), "--strict",
                   "--timeout-scale", self.timeout_scale]
        for pattern in filters:
            command += ["--filter", pattern]
        results = out / "results.json"
        results.unlink(missing_ok=True)
        out.mkdir(parents=True, exist_ok=True)
        done = run(command, self.root, seconds)
        (out / "console.log").write_text(done.output, encoding="utf-8")
        if done.code is None:
            raise Trouble(f"the run did not end within {seconds:.0f} s")
        try:
            read = json.loads(results.read_text(encoding="utf-8"))
            cases = [_parse_case(record) for record in read["cases"]]
        except (OSError, ValueError, KeyError, TypeError) as error:
            said = last_line(done.output)
            raise Trouble(f"no readable results.json (exit code {done.code}, "
                          f"{said}): {error}") from error
        return RunResult(done.code, {case.case: case for case in cases})


def judge(mutant: Mutant, result: RunResult) -> tuple[str, str, str]:
    """(state, reason, case): killed means this case, verdict, words, clause."""
    struck = [case for name, case in sorted(result.cases.items())
              if hits(mutant.killer, name)]
    if not struck:
        return BROKEN, f"no case {mutant.killer} ran", ""
    bad = [case for case in struck if case.verdict != "PASS"]
    if not bad:
        if result.code != 0 and len(struck) == len(result.cases):
            return BROKEN, (f"all passed, yet the exit code is "
                            f"{result.code}"), struck[0].case
        return SURVIVED, f"{struck[0].case} passed", struck[0].case
    for case in bad:
        if case.verdict != mutant.verdict:
            return BROKEN, (f"another verdict: {case.verdict}, not "
                            f"{mutant.verdict}: {case.text[:120]!r}"), case.case
        if not any(words in case.text for words in mutant.words):
            return BROKEN, (f"{OTHER_WORDS}: {case.text[:200]!r} lacks "
                            f"{' and '.join(mutant.words)!r}"), case.case
        if case.clause != mutant.clause:
            return BROKEN, (f"another clause is blamed: {case.clause}, not "
                            f"{mutant.clause}"), case.case
    if result.code != 1:
        return BROKEN, f"the exit code is {result.code}, not 1", bad[0].case
    for pattern in mutant.also:
        if not any(hits(pattern, case.case) and case.verdict in VERDICTS
                   for case in result.cases.values()):
            return BROKEN, f"{pattern} passed, which Also names", bad[0].case
    return KILLED, bad[0].verdict, bad[0].case
