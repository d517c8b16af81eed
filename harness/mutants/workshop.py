# SPDX-License-Identifier: MIT OR Apache-2.0
"""Builds the pristine runtime once, and each mutant from a copy of it."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from patches import Mutant

BUILD_TIMEOUT_S = 300
LIBRARY = {"so": "build/lib/libgusset.so", "a": "build/lib/libgusset.a"}


class Trouble(Exception):
    """Why something cannot be judged; the text is one line."""


@dataclass(frozen=True)
class Finished:
    """How a child process ended; `code` is None when time ran out."""

    code: int | None
    output: str


def run(command: list[str], cwd: Path, seconds: float) -> Finished:
    """Runs to the end or the time limit; never leaves a child behind."""
    env = {key: value for key, value in os.environ.items()
           if key not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "BUILD")}
    env["LC_ALL"] = "C.UTF-8"
    child = subprocess.Popen(command, cwd=cwd, env=env, text=True,
                             stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, errors="replace",
                             start_new_session=True)
    try:
        output, _ = child.communicate(timeout=seconds)
        return Finished(child.returncode, output)
    except subprocess.TimeoutExpired:
        return Finished(None, _stop(child))
    except BaseException:
        _stop(child)
        raise


def _stop(child: subprocess.Popen[str]) -> str:
    """Asks the child to end, so that it may end its own, then insists."""
    for sign in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(child.pid, sign)
        except ProcessLookupError:
            pass
        try:
            return child.communicate(timeout=5)[0]
        except subprocess.TimeoutExpired:
            continue
    return ""


def last_line(text: str, words: str = "") -> str:
    """The line that says most: the first with `words`, else the last."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    told = [line for line in lines if words and words in line]
    return (told or lines[-1:] or ["no output"])[0]


def substance(library: Path) -> str:
    """
    A digest of what the library does: without debug information and build
    id, so that a moved line alone is no difference.
    """
    with tempfile.TemporaryDirectory() as scratch:
        bare = Path(scratch) / library.name
        done = run(["objcopy", "--strip-debug",
                    "--enable-deterministic-archives",
                    "--remove-section=.note.gnu.build-id",
                    str(library.resolve()), str(bare)], Path(scratch), 60)
        if done.code != 0:
            raise Trouble(f"objcopy: {last_line(done.output)}")
        return hashlib.sha256(bare.read_bytes()).hexdigest()


def _copy_changed(source: Path, target: Path) -> None:
    """Makes target equal to source, leaving equal files and dates alone."""
    target.mkdir(parents=True, exist_ok=True)
    wanted = {path.relative_to(source) for path in source.rglob("*")}
    for path in sorted(target.rglob("*"), reverse=True):
        if path.relative_to(target) not in wanted:
            path.rmdir() if path.is_dir() else path.unlink()
    for name in sorted(wanted):
        there, here = source / name, target / name
        if there.is_dir():
            here.mkdir(exist_ok=True)
        elif not here.exists() or here.read_bytes() != there.read_bytes():
            shutil.copy2(there, here)
            here.touch()


class Workshop:
    """Trees under `folder`: pristine/ and one for each mutant."""

    def __init__(self, source: Path, folder: Path, jobs: int) -> None:
        self.source = source
        self.folder = folder
        self.jobs = jobs
        self.pristine = folder / "pristine"
        self._substance: dict[str, str] = {}

    def _make(self, tree: Path, kinds: tuple[str, ...], jobs: int) -> None:
        goals = [LIBRARY[kind] for kind in kinds]
        done = run(["make", f"-j{jobs}", "BUILD=build", *goals], tree,
                   BUILD_TIMEOUT_S)
        (tree / "build.log").write_text(done.output, encoding="utf-8")
        if done.code is None:
            raise Trouble(f"does not build within {BUILD_TIMEOUT_S} s")
        if done.code != 0:
            raise Trouble(f"does not build: {last_line(done.output, 'error')}")

    def build_pristine(self) -> dict[str, Path]:
        """The unchanged libraries by kind."""
        if not (self.source / "runtime").is_dir():
            raise Trouble(f"{self.source} has no folder runtime/")
        self.pristine.mkdir(parents=True, exist_ok=True)
        _copy_changed(self.source / "runtime", self.pristine / "runtime")
        makefile = self.pristine / "Makefile"
        wanted = (self.source / "Makefile").read_bytes()
        if not makefile.exists() or makefile.read_bytes() != wanted:
            makefile.write_bytes(wanted)
        self._make(self.pristine, ("so", "a"), self.jobs)
        libraries = {kind: self.pristine / path
                     for kind, path in LIBRARY.items()}
        for kind, library in libraries.items():
            self._substance[kind] = substance(library)
        return libraries

    def build(self, mutant: Mutant) -> dict[str, Path]:
        """The mutant's libraries by kind; Trouble when it is none."""
        tree = self.folder / mutant.name
        shutil.rmtree(tree, ignore_errors=True)
        shutil.copytree(self.pristine, tree, symlinks=True)
        done = run(["patch", "-p1", "--fuzz=0", "--batch", "--forward",
                    "--no-backup-if-mismatch",
                    "--input", str(mutant.path.resolve())], tree, 60)
        if done.code != 0:
            words = last_line(done.output, "FAILED")
            raise Trouble(f"does not apply: {words}")
        self._make(tree, mutant.subjects, 1)
        libraries = {kind: tree / LIBRARY[kind] for kind in mutant.subjects}
        for kind, library in libraries.items():
            if substance(library) == self._substance[kind]:
                raise Trouble(f"changes nothing: the lib{kind} is the same")
        return libraries

    def tidy(self, mutant: Mutant) -> None:
        """Drops what only the build needed."""
        shutil.rmtree(self.folder / mutant.name / "build/obj",
                      ignore_errors=True)
