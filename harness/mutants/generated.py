# SPDX-License-Identifier: MIT OR Apache-2.0
"""
The generated mutants: each fault that sites.py finds has a row in
generated.tsv, which names its killer, or a comment in the source beside it,
which says why nothing can see it. How both look: README.md.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from patches import VERDICTS, Mutant
from sites import HOT_FILES, Site, flat, mutated, sites

BUILDS = ("plain", "tsan", "unit", "unit-tsan", "unit-asan", "model")
SUBJECT_OF = {"plain": "so"}
COLUMNS = ("mutant", "build", "killer", "verdict", "words", "change")
# /* Equivalent [OPERATOR, OPERATOR `TEXT`]: why. */ or /* Unseen ... */
ANNOTATION = re.compile(
    r"/\*\s*(Equivalent|Unseen) \[((?:[^`\]]|`[^`]*`)*)\]:(.*?)\*/", re.DOTALL)
SUBJECT = re.compile(r"([a-z_-]+)(?:\s+`([^`]*)`)?")
STATEMENT_END = re.compile(r"[;{}]\s*(/\*.*\*/\s*)?$")
REASON_LEAST = 4  # words


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    mutant: str
    build: str
    killer: str
    verdict: str
    words: str
    change: str
    line: int

    def text(self) -> str:
        return "\t".join((self.mutant, self.build, self.killer, self.verdict,
                          self.words, self.change))


@dataclass(frozen=True)
class PlantedSite:
    """A site as a mutant's fault."""

    site: Site

    @property
    def file(self) -> str:
        return self.site.file

    def apply(self, text: bytes) -> bytes:
        return mutated(text, self.site)


@dataclass
class Note:
    """An annotation: of the statement below it, what these operators change;
    with a text, of the function's rest what reads so."""

    file: str
    first: int
    last: int
    end: int
    subjects: tuple[tuple[str, str], ...]
    reason: str
    used: set[str] = field(default_factory=set)

    def covers(self, site: Site) -> bool:
        for operator, text in self.subjects:
            last = self.end if text else self.last
            if (site.file == self.file and site.operator == operator
                    and self.first <= site.line <= last
                    and text in ("", site.before)):
                self.used.add(operator)
                return True
        return False


@dataclass
class Generated:
    """All generated mutants of a tree, and what is wrong with the table."""

    mutants: list[Mutant] = field(default_factory=list)
    equivalent: list[Mutant] = field(default_factory=list)
    unjudged: list[Mutant] = field(default_factory=list)
    sites: list[Site] = field(default_factory=list)


def change_of(site: Site) -> str:
    return f"{site.before} => {site.after}"


def read_table(path: Path) -> tuple[list[Row], list[str]]:
    """The rows, and what is wrong with lines that are none."""
    rows, trouble = [], []
    lines = (path.read_text(encoding="utf-8").splitlines()
             if path.is_file() else [])
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        cells = line.split("\t")
        if len(cells) != len(COLUMNS) or not all(cells):
            trouble.append(f"{path.name}:{number}: a row has "
                           f"{len(COLUMNS)} cells, none empty")
            continue
        rows.append(Row(*cells, number))
    return rows, trouble


def read_notes(path: Path) -> tuple[list[Note], list[str]]:
    """The annotations of one source file."""
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    notes, trouble = [], []
    for match in ANNOTATION.finditer(text):
        first = text.count("\n", 0, match.end()) + 2
        about, reason = (flat(re.sub(r"\n\s*\*", " ", match.group(part)))
                         for part in (2, 3))
        if len(reason.split()) < REASON_LEAST:
            trouble.append(f"{path.name}:{first - 1}: an annotation gives its "
                           "reason in a whole sentence")
        last = first
        while last < len(lines) and not STATEMENT_END.search(lines[last - 1]):
            last += 1
        end = last
        while end < len(lines) and not lines[end - 1].startswith("}"):
            end += 1
        subjects = tuple(SUBJECT.findall(about))
        notes.append(Note(path.name, first, last, end, subjects,
                          f"{match.group(1).lower()}: {reason}"))
    return notes, trouble


def _mutant(site: Site, row: Row | None, table: Path, why: str) -> Mutant:
    fields = {"Mutant": site.name, "Why": why}
    if row is not None:
        fields |= {"Killer": row.killer, "Verdict": row.verdict,
                   "Words": row.words,
                   "Subject": SUBJECT_OF.get(row.build, row.build)}
    return Mutant(table, site.name, fields, fault=PlantedSite(site))


def _check_row(mutant: Mutant, row: Row, site: Site) -> None:
    if row.build not in BUILDS:
        mutant.trouble.append(f"build must be one of {', '.join(BUILDS)}")
        mutant.fields["Subject"] = "so"
    if not set(row.verdict.split("/")) <= set(VERDICTS):
        mutant.trouble.append(f"verdict must be one of {', '.join(VERDICTS)}")
    if row.change != change_of(site):
        mutant.trouble.append(f"stale row: it speaks of {row.change}, the "
                              f"source has {change_of(site)}")


def _stale(row: Row, table: Path, why: str) -> Mutant:
    return Mutant(table, row.mutant, {"Mutant": row.mutant,
                                      "Killer": row.killer}, [why])


def _of_site(site: Site, rows: list[Row], notes: list[Note], table: Path,
             result: Generated) -> None:
    """Sorts one site in: judged, equivalent, or nobody speaks of it."""
    about = [note for note in notes if note.covers(site)]
    why = f"generated: {change_of(site)}"
    mutant = _mutant(site, rows[0] if rows else None, table, why)
    if rows:
        _check_row(mutant, rows[0], site)
    if len(rows) > 1:
        mutant.trouble.append("two rows speak of it")
    if rows and about:
        mutant.trouble.append("a row names its killer, and a comment in the "
                              "source says that it has none")
    if rows or mutant.trouble:
        result.mutants.append(mutant)
    elif about:
        mutant.fields["Why"] = about[0].reason
        result.equivalent.append(mutant)
    else:
        mutant.trouble.append(
            f"no row and no annotation: {change_of(site)} "
            f"({site.file}:{site.line})")
        result.unjudged.append(mutant)
        result.mutants.append(mutant)


def _leftovers(rows: list[Row], notes: list[Note], faults: list[str],
               table: Path, result: Generated) -> None:
    """Rows and annotations that speak of nothing."""
    names = {site.name for site in result.sites}
    for row in rows:
        if row.mutant not in names:
            result.mutants.append(_stale(row, table, "stale row: there is no "
                                         "such mutant any more"))
    for note in notes:
        for operator, _ in note.subjects:
            if operator not in note.used:
                name = f"{note.file}:{note.first}/{operator}"
                result.mutants.append(Mutant(
                    table, name, {"Mutant": name},
                    ["stale annotation: nothing there is changed by "
                     f"{operator}"]))
    for number, fault in enumerate(faults, 1):
        name = f"{table.name}/{number}"
        result.mutants.append(Mutant(table, name, {"Mutant": name}, [fault]))


def load_generated(root: Path, table: Path) -> Generated:
    """Reads sources, table and annotations; NoParser without libclang."""
    result = Generated()
    rows, faults = read_table(table)
    by_name: dict[str, list[Row]] = {}
    for row in rows:
        by_name.setdefault(row.mutant, []).append(row)
    notes: list[Note] = []
    source = root / "runtime/src"
    for name in HOT_FILES:
        if not (source / name).is_file():
            continue
        found = sites(source / name, [root / "runtime/include"])
        notes_here, faults_here = read_notes(source / name)
        result.sites += found
        notes += notes_here
        faults += faults_here
        for site in found:
            _of_site(site, by_name.get(site.name, []), notes_here, table,
                     result)
    _leftovers(rows, notes, faults, table, result)
    return result
