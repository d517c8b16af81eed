# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs a judge against what a mutant built and reads what it found."""

from __future__ import annotations

import fnmatch
import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from patches import VERDICTS, Mutant
from workshop import Trouble, last_line, run

RUN_TIMEOUT_S = 180
OTHER_WORDS = "other words"
# The named case passed: no second look takes that back.
PASSED_BY_KILLER = "killed by another case"
FULL_TIMEOUT_S = 1200
UNIT_TIMEOUT_S = 240
# Cases that look at the header of the checkout, whatever the library is.
INDEPENDENT = ("i6.header-compiles.*", "i6.self-report-true.header*")
KILLED, SURVIVED, BROKEN = "KILLED", "SURVIVED", "BROKEN"
EQUIVALENT = "EQUIVALENT"  # annotated so, and found so
UNREACHED = "OUT-OF-REACH"  # its case needs what this machine lacks
# A run that passes everything; 3: without its self-test it certifies nothing.
PASSED = (0, 3)
# ThreadSanitizer costs a case this much; a hang is known sooner.
TSAN_SCALE, HANG_SCALE = 4.0, 0.25


@dataclass(frozen=True)
class CaseResult:
    """One line of results.json, as far as a mutant is judged by it."""

    case: str
    verdict: str
    clause: str
    text: str
    reason: str = ""
    expression: str = ""
    seconds: float = 0.0


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
    file: str = ""
    once: bool = False  # it judges no library
    go: bool = False  # it is in Go, and judges the package too


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
    check = record.get("check") or {}
    return CaseResult(str(record["id"]), str(record["verdict"]),
                      _first_clause(record), "\n".join(_texts(said)),
                      str(record.get("reason", "")),
                      str(check.get("expression", "")),
                      float(record.get("seconds", 0)))


@dataclass
class Request:
    """What a run of the judge is asked for."""

    filters: list[str]
    jobs: int
    seconds: float = RUN_TIMEOUT_S
    scale: float = 1.0
    exclude: tuple[str, ...] = ()
    prove_itself: bool = False
    effort: str = "normal"
    go: bool = True  # the cases in Go too


class Judge:
    """gusset-conform, the program at `program`; under ThreadSanitizer its
    sister at `under_tsan`, which loads cases built that way."""

    def __init__(self, program: Path, under_tsan: Path, root: Path,
                 timeout_scale: str) -> None:
        self.program = program
        self.under_tsan = under_tsan
        self.root = root
        self.timeout_scale = float(timeout_scale)

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
                tuple(names), str(record.get("file") or ""),
                "once" in tags or any(hits(pattern, record["id"])
                                      for pattern in INDEPENDENT),
                "go" in record.get("needs", []))
        if not cases:
            raise Trouble("gusset-conform list names no case")
        return cases

    def _command(self, kind: str, subject: Path, out: Path,
                 asked: Request) -> list[str]:
        program, scale = self.program, self.timeout_scale * asked.scale
        if kind == "tsan":
            program, scale = self.under_tsan, scale * TSAN_SCALE
        command = [str(program), "run", "--out", str(out),
                   "--jobs", str(asked.jobs), "--strict",
                   "--timeout-scale", f"{scale:g}"]
        beside = {"header": "--header", "go": "--go-package"}
        command += (["--impl", str(subject)] if kind not in beside else
                    ["--impl", str(self.plain), beside[kind], str(subject)])
        if not asked.go:
            command.append("--go=never")
        claims = self.root / "runtime/claims.json"
        if claims.is_file():
            command += ["--claims", str(claims)]
        command += ["--effort", asked.effort]
        if not asked.prove_itself:
            command.append("--no-self-test")
        for pattern in asked.filters:
            command += ["--filter", pattern]
        for pattern in asked.exclude:
            command += ["--exclude", pattern]
        return command

    plain: Path = Path("absent")  # the library beside a header, a package

    def run(self, kind: str, subject: Path, out: Path,
            asked: Request) -> RunResult:
        """Judges one build; Trouble when there is no judgement to read."""
        if kind.startswith("unit"):
            return run_unit(subject, out, asked.filters[0])
        results = out / "results.json"
        results.unlink(missing_ok=True)
        out.mkdir(parents=True, exist_ok=True)
        done = run(self._command(kind, subject, out, asked), self.root,
                   asked.seconds, {"TSAN_OPTIONS": "halt_on_error=1"}
                   if kind == "tsan" else {})
        (out / "console.log").write_text(done.output, encoding="utf-8")
        if done.code is None and not results.is_file():
            raise Trouble(f"the run did not end within {asked.seconds:.0f} s")
        try:
            read = json.loads(results.read_text(encoding="utf-8"))
            cases = [_parse_case(record) for record in read["cases"]]
        except (OSError, ValueError, KeyError, TypeError) as error:
            said = last_line(done.output)
            raise Trouble(f"no readable results.json (exit code {done.code}, "
                          f"{said}): {error}") from error
        code = -1 if done.code is None else done.code
        return RunResult(code, {case.case: case for case in cases})


def _unit_verdict(code: int | None, output: str) -> str:
    """PASS only for the closing line of a program that failed nothing."""
    counts = re.findall(r"^(\d+) passed, (\d+) failed, (\d+) skipped$",
                        output, re.MULTILINE)
    if code is None or "Test timeout expired" in output:
        return "HANG"
    if re.search("(Thread|Address)Sanitizer|runtime error:", output):
        return "CRASH"
    if "Received signal" in output and ":F:" not in output:
        return "CRASH"
    if not counts or code < 0:
        return "CRASH"
    passed, failed, _ = (int(count) for count in counts[-1])
    return "PASS" if code == 0 and passed > 0 and failed == 0 else "FAIL"


def run_unit(programs: Path, out: Path, killer: str) -> RunResult:
    """A unit test program, or one of its cases as PROGRAM:CASE."""
    name, _, case = killer.partition(":")
    more = {"TSAN_OPTIONS": "halt_on_error=1", "CK_VERBOSITY": "normal"}
    if case:
        more["CK_RUN_CASE"] = case
    out.mkdir(parents=True, exist_ok=True)
    done = run([str(programs / name)], out, UNIT_TIMEOUT_S, more)
    (out / "console.log").write_text(done.output, encoding="utf-8")
    verdict = _unit_verdict(done.code, done.output)
    result = CaseResult(killer, verdict, "", done.output,
                        last_line(done.output, ":F:" if ":F:" in done.output
                                  else ":E:"))
    return RunResult(0 if verdict == "PASS" else 1, {killer: result})


def judge(mutant: Mutant, result: RunResult) -> tuple[str, str, str]:
    """(state, reason, case): killed means this case, verdict, words, clause."""
    struck = [case for name, case in sorted(result.cases.items())
              if hits(mutant.killer, name) and case.verdict != UNREACHED]
    if not struck:
        return BROKEN, f"no case {mutant.killer} ran", ""
    bad = [case for case in struck if case.verdict != "PASS"]
    if not bad:
        if (result.code not in PASSED
                and len(struck) == len(result.cases)):
            return BROKEN, (f"all passed, yet the exit code is "
                            f"{result.code}"), struck[0].case
        return SURVIVED, f"{struck[0].case} passed", struck[0].case
    for case in bad:
        if case.verdict not in mutant.verdicts:
            return BROKEN, (f"another verdict: {case.verdict}, not "
                            f"{mutant.verdict}: {case.text[:120]!r}"), case.case
        if not any(words in case.text for words in mutant.words):
            return BROKEN, (f"{OTHER_WORDS}: {case.text[:200]!r} lacks "
                            f"{' and '.join(mutant.words)!r}"), case.case
        if case.clause != mutant.clause and mutant.fault is None:
            return BROKEN, (f"another clause is blamed: {case.clause}, not "
                            f"{mutant.clause}"), case.case
    if result.code != 1:
        return BROKEN, f"the exit code is {result.code}, not 1", bad[0].case
    for pattern in mutant.also:
        if not any(hits(pattern, case.case) and case.verdict in VERDICTS
                   for case in result.cases.values()):
            return BROKEN, f"{pattern} passed, which Also names", bad[0].case
    return KILLED, bad[0].verdict, bad[0].case
