# SPDX-License-Identifier: MIT OR Apache-2.0
"""A mutant as it lies in its file: the header, and what is wrong with it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

VERDICTS = ("FAIL", "CRASH", "HANG", "LEAK")
SUBJECTS = ("so", "a", "both", "header", "go")
HEADER = "runtime/include/gusset.h"
PACKAGE_FILE = re.compile(r"b/hosts/go/[a-z0-9_]+\.go")
REQUIRED = ("Mutant", "Clause", "Killer", "Verdict", "Words", "Why")
OPTIONAL = {"Subject": "so", "Attempts": "1", "Also": ""}

NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
CLAUSE = re.compile(r"(i[1-6]|l|h|a)\.[a-z0-9-]+")
FIELD = re.compile(r"([A-Z][a-z-]*):\s*(.*)")
MAX_CHANGED_LINES = 40


class Fault(Protocol):
    """A fault that no patch file plants: one change of one source file."""

    file: str

    def apply(self, text: bytes) -> bytes:
        """The file with the fault."""


@dataclass
class Mutant:
    """One seeded fault. `trouble` is empty when it can be judged."""

    path: Path
    name: str
    fields: dict[str, str]
    trouble: list[str] = field(default_factory=list)
    targets: list[str] = field(default_factory=list)
    fault: Fault | None = None

    @property
    def folder(self) -> str:
        """Its name as a folder's."""
        return self.name.replace("/", "~")

    @property
    def clause(self) -> str:
        return self.fields.get("Clause", "?")

    @property
    def killer(self) -> str:
        return self.fields.get("Killer", "?")

    @property
    def verdict(self) -> str:
        return self.fields.get("Verdict", "?")

    @property
    def verdicts(self) -> list[str]:
        """Several only for a fault that corrupts memory."""
        return self.verdict.split("/")

    @property
    def words(self) -> list[str]:
        """Texts of which the failure must contain one."""
        return self.fields.get("Words", "").split(" || ")

    @property
    def why(self) -> str:
        return self.fields.get("Why", "")

    @property
    def also(self) -> list[str]:
        """Other cases that must find the fault, in whatever words."""
        return self.fields.get("Also", OPTIONAL["Also"]).split()

    @property
    def attempts(self) -> int:
        """How often a run may pass before the mutant has survived."""
        return int(self.fields.get("Attempts", OPTIONAL["Attempts"]))

    @property
    def subjects(self) -> tuple[str, ...]:
        """The library kinds that must be judged, in order."""
        subject = self.fields.get("Subject", OPTIONAL["Subject"])
        return ("so", "a") if subject == "both" else (subject,)


def _read_header(lines: list[str], trouble: list[str]) -> dict[str, str]:
    """The `Field: value` lines above the diff; indented lines go on."""
    fields: dict[str, str] = {}
    last = ""
    for line in lines:
        if line.startswith(("--- ", "diff ", "index ")):
            break
        if not line.strip() or line.startswith("#"):
            continue
        if line[0].isspace() and last:
            fields[last] += " " + line.strip()
            continue
        match = FIELD.fullmatch(line.rstrip())
        if not match:
            trouble.append(f"header line is no `Field: value`: {line!r}")
            continue
        last, value = match.group(1), match.group(2).strip()
        if last in fields:
            trouble.append(f"header field {last} is given twice")
        fields[last] = value
    return fields


def _check_header(mutant: Mutant) -> None:
    fields, trouble = mutant.fields, mutant.trouble
    for key in REQUIRED:
        if not fields.get(key):
            trouble.append(f"header field {key} is missing")
    for key in fields:
        if key not in REQUIRED and key not in OPTIONAL:
            trouble.append(f"header field {key} is unknown")
    if fields.get("Mutant") and fields["Mutant"] != mutant.path.stem:
        trouble.append(
            f"header names {fields['Mutant']}, the file {mutant.path.stem}"
        )
    if not NAME.fullmatch(mutant.path.stem):
        trouble.append("the name is not of the form words-and-dashes")
    if fields.get("Clause") and not CLAUSE.fullmatch(fields["Clause"]):
        trouble.append(f"no clause id: {fields['Clause']}")
    if not set(mutant.verdicts) <= {*VERDICTS, "?"}:
        trouble.append(f"Verdict must be one of {', '.join(VERDICTS)}")
    if not re.fullmatch("[1-9]", fields.get("Attempts", "1")):
        trouble.append("Attempts must be 1 to 9")
    if fields.get("Subject", "so") not in SUBJECTS:
        trouble.append(f"Subject must be one of {', '.join(SUBJECTS)}")


def _check_diff(mutant: Mutant, lines: list[str]) -> None:
    trouble = mutant.trouble
    targets = [line[4:].split("\t")[0].strip()
               for line in lines if line.startswith("+++ ")]
    if not targets:
        trouble.append("there is no diff below the header")
    in_go = "go" in mutant.subjects
    for target in targets:
        if in_go and not PACKAGE_FILE.fullmatch(target):
            trouble.append(f"changes {target}, not a file b/hosts/go/NAME.go")
        elif not in_go and (not target.startswith("b/runtime/")
                            or ".." in target):
            trouble.append(f"changes {target}, not a file b/runtime/...")
        mutant.targets.append(target.removeprefix("b/"))
    if "header" in mutant.subjects and mutant.targets != [HEADER]:
        trouble.append(f"Subject: header changes {HEADER} and nothing else")
    changed = sum(1 for line in lines
                  if line[:1] in "+-" and line[:4] not in ("+++ ", "--- "))
    if changed > MAX_CHANGED_LINES:
        trouble.append(f"{changed} changed lines; a mutant has at most "
                       f"{MAX_CHANGED_LINES}")


def load(path: Path) -> Mutant:
    """Reads one patch file; what is wrong with it goes into `trouble`."""
    trouble: list[str] = []
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        return Mutant(path, path.stem, {}, [f"cannot be read: {error}"])
    mutant = Mutant(path, path.stem, _read_header(lines, trouble), trouble)
    _check_header(mutant)
    _check_diff(mutant, lines)
    return mutant


def load_all(folder: Path) -> list[Mutant]:
    """All patches of a folder; two that claim one name are both in trouble."""
    mutants = [load(path) for path in sorted(folder.glob("*.patch"))]
    claimed: dict[str, list[Mutant]] = {}
    for mutant in mutants:
        name = mutant.fields.get("Mutant", mutant.name)
        claimed.setdefault(name, []).append(mutant)
    for name, owners in claimed.items():
        for mutant in owners if len(owners) > 1 else []:
            mutant.trouble.append(f"duplicate name {name}")
    return mutants
