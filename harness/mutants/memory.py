# SPDX-License-Identifier: MIT OR Apache-2.0
"""
What was judged already: a cell of the matrix holds as long as neither the
mutant's library nor what the case was made from has changed.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from judge import Declared

# What every case is made from. Who judges it proves itself in its self-test: a
# change there does not make a run of two hours begin anew.
SHARED = ("harness/lib", "harness/include", "runtime/include", "abi_check")
# What the cases in Go are made from, their files aside.
GO_SHARED = ("hosts/go/cases/conform", "hosts/go/cases/raw")
HEADERS = ("harness/cases", "panic_zoo")


@dataclass
class Cell:
    """A case's verdict on a mutant; `firm`: it struck twice."""

    digest: str
    verdict: str
    firm: bool


def _add(hasher: Any, root: Path, path: Path) -> None:
    data = path.read_bytes()
    hasher.update(f"{path.relative_to(root)} {len(data)}\n".encode())
    hasher.update(data)


class Memory:
    """The cells of former runs, one file for each library."""

    def __init__(self, folder: Path, root: Path, program: Path) -> None:
        self.folder = folder
        self.root = root
        self.program = program
        self._shared = self._hash_shared()
        self._go_shared = self._shared + self._hash_folders(GO_SHARED)
        self._of_file: dict[str, str] = {}

    def _hash_folders(self, names: tuple[str, ...]) -> str:
        hasher = hashlib.sha256()
        for name in names:
            for path in sorted((self.root / name).rglob("*")):
                if path.is_file():
                    _add(hasher, self.root, path)
        return hasher.hexdigest()

    def _hash_shared(self) -> str:
        hasher = hashlib.sha256()
        for name in SHARED:
            for path in sorted((self.root / name).rglob("*")):
                if path.is_file():
                    _add(hasher, self.root, path)
        for name in HEADERS:
            for path in sorted((self.root / name).rglob("*.h")):
                _add(hasher, self.root, path)
        claims = self.root / "runtime/claims.json"
        if claims.is_file():
            _add(hasher, self.root, claims)
        return hasher.hexdigest()

    def digest(self, case: Declared, effort: str) -> str:
        """Of what the case was made from, or of the judge itself when a case
        does not say where it lies, and of how often it tried."""
        path = self.root / case.file
        if not case.file or not path.is_file():
            path = self.program
        if str(path) not in self._of_file:
            shared = self._go_shared if case.go else self._shared
            hasher = hashlib.sha256(shared.encode())
            hasher.update(path.read_bytes())
            self._of_file[str(path)] = hasher.hexdigest()[:24]
        return f"{self._of_file[str(path)]} {effort}"

    def package(self, folder: Path) -> str:
        """A digest of the sources of a Go package."""
        hasher = hashlib.sha256()
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                _add(hasher, folder, path)
        return hasher.hexdigest()

    def load(self, library: str) -> dict[str, Cell]:
        """The cells of a library, by case."""
        path = self.folder / f"{library[:32]}.json"
        try:
            read = json.loads(path.read_text(encoding="utf-8"))
            return {case: Cell(*cell) for case, cell in read.items()}
        except (OSError, ValueError, TypeError):
            return {}

    def save(self, library: str, cells: dict[str, Cell]) -> None:
        """Whole or not at all."""
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / f"{library[:32]}.json"
        fresh = path.with_suffix(f".{os.getpid()}")
        rows = {case: [cell.digest, cell.verdict, cell.firm]
                for case, cell in sorted(cells.items())}
        fresh.write_text(json.dumps(rows) + "\n", encoding="utf-8")
        fresh.replace(path)
