# SPDX-License-Identifier: MIT OR Apache-2.0
"""
Mutants that are judged by a model: the processor here never shows what a
weaker order permits, so spin searches the variant of the model in which that
order is weak. A line `weak in NAME: FILE FUNCTION TEXT` in the model ties a
variant to the lines of the code that it weakens.
"""

from __future__ import annotations

import re
import threading
from pathlib import Path

from judge import BROKEN, KILLED, SURVIVED
from patches import Mutant
from workshop import last_line, run

SEARCH_S = 300
TIE = re.compile(r"^ \* weak in (\w+): (\S+) (\S+) (.+)$", re.MULTILINE)


class ModelRoom:
    """The models of `folder`; each variant is searched once."""

    def __init__(self, folder: Path, out: Path) -> None:
        self.folder = folder
        self.out = out
        self._lock = threading.Lock()
        self._seen: dict[str, str] = {}

    @staticmethod
    def _parts(mutant: Mutant) -> tuple[str, str]:
        """(model, variant) of a killer such as `park -DWEAK_PUSH`."""
        model, _, variant = mutant.killer.partition(" ")
        return model, variant.strip()

    def trouble(self, mutant: Mutant) -> list[str]:
        """Why the row names no model that speaks of this line, or nothing."""
        model, variant = self._parts(mutant)
        path = self.folder / f"{model}.pml"
        if not path.is_file():
            return [f"there is no model {model}"]
        site = getattr(mutant.fault, "site", None)
        if site is None:
            return ["a model judges generated mutants only"]
        text = path.read_text(encoding="utf-8")
        for name, file, function, words in TIE.findall(text):
            if (variant == f"-D{name}" and file == site.file
                    and function == site.function
                    and words.strip() == site.before):
                return []
        return [f"{model}.pml does not say `weak in {variant[2:]}: "
                f"{site.file} {site.function} {site.before}`"]

    def judge(self, mutant: Mutant) -> tuple[str, str]:
        """(state, reason): killed when the search reports the words."""
        said = self._search(*self._parts(mutant))
        if "errors: 0" in said:
            return SURVIVED, "the search found nothing"
        if not any(words in said for words in mutant.words):
            return BROKEN, ("other words: the search said "
                            f"{last_line(said, 'pan')!r}")
        return KILLED, "FAIL"

    def _search(self, model: str, variant: str) -> str:
        """spin's own report of that variant."""
        with self._lock:
            key = f"{model} {variant}"
            if key not in self._seen:
                self._seen[key] = self._search_anew(model, variant)
            return self._seen[key]

    def _search_anew(self, model: str, variant: str) -> str:
        folder = self.out / f"{model}{variant}"
        folder.mkdir(parents=True, exist_ok=True)
        said = ""
        for command in (["spin", variant, "-a",
                         str(self.folder.resolve() / f"{model}.pml")],
                        ["cc", "-O1", "-w", "-DSAFETY", "-DVECTORSZ=1024",
                         "-o", "pan", "pan.c"],
                        ["./pan", "-m100000"]):
            done = run(command, folder, SEARCH_S)
            said += done.output
            if done.code != 0:
                break
        return " ".join(said.split())
