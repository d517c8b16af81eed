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
LABELS = {"so": "libso", "a": "liba", "tsan": "libso of TSan"}


class Trouble(Exception):
    """Why something cannot be judged; the text is one line."""


class Unchanged(Trouble):
    """The mutant is the pristine runtime."""


@dataclass(frozen=True)
class Finished:
    """How a child process ended; `code` is None when time ran out."""

    code: int | None
    output: str


def run(command: list[str], cwd: Path, seconds: float,
        more: dict[str, str] | None = None) -> Finished:
    """Runs to the end or the time limit; never leaves a child behind."""
    env = {key: value for key, value in os.environ.items()
           if key not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "BUILD")}
    env |= {"LC_ALL": "C.UTF-8"} | (more or {})
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


@dataclass(frozen=True)
class Way:
    """One way of building the runtime; `goal` is judged or run."""

    folder: str
    goal: str
    variables: tuple[str, ...] = ()


TSAN = ("SAN=-fsanitize=thread",)
ASAN = ("SAN=-fsanitize=address,undefined -fno-sanitize-recover=all",)
WAYS = {"so": Way("build", "lib/libgusset.so"),
        "a": Way("build", "lib/libgusset.a"),
        "tsan": Way("build-tsan", "lib/libgusset.so", TSAN),
        "unit": Way("build", "tests/"),
        "unit-tsan": Way("build-tsan", "tests/", TSAN),
        "unit-asan": Way("build-asan", "tests/", ASAN)}
HEADER = "runtime/include/gusset.h"
# The Go package, judged beside the unchanged library; nothing is built here.
PACKAGE = "hosts/go"


def copy_package(source: Path, target: Path) -> None:
    """The module of the Go package, without the modules that lie in it."""
    target.mkdir(parents=True, exist_ok=True)
    for path in sorted(source.iterdir()):
        if path.is_file():
            shutil.copy2(path, target / path.name)
        elif not (path / "go.mod").exists():
            copy_package(path, target / path.name)


def _without(tree: Path, changed: list[str]) -> None:
    """Drops the objects that depend on a changed file, so that make builds
    them anew whatever the clock says."""
    for depends in tree.glob("build*/obj/**/*.d"):
        words = depends.read_text(encoding="utf-8").replace("\\\n", " ")
        if any(name in words.split() for name in changed):
            depends.with_suffix(".o").unlink(missing_ok=True)


class Workshop:
    """Trees under `folder`: pristine/ and one for each mutant."""

    def __init__(self, source: Path, folder: Path, jobs: int) -> None:
        self.source = source
        self.folder = folder
        self.jobs = jobs
        self.pristine = folder / "pristine"
        self._substance: dict[str, str] = {}

    def _make(self, tree: Path, kinds: set[str], programs: set[str],
              jobs: int, extra: tuple[str, ...] = ()) -> None:
        """Builds the goals of these kinds; Trouble when one fails."""
        said = ""
        for kind in sorted(kinds):
            way = WAYS[kind]
            goals = [f"{way.folder}/{way.goal}{name}" for name in
                     (sorted(programs) if way.goal.endswith("/") else [""])]
            done = run(["make", f"-j{jobs}", f"BUILD={way.folder}",
                        *way.variables, *extra, *goals], tree,
                       BUILD_TIMEOUT_S)
            said += done.output
            (tree / "build.log").write_text(said, encoding="utf-8")
            if done.code is None:
                raise Trouble(f"does not build within {BUILD_TIMEOUT_S} s")
            if done.code != 0:
                raise Trouble("does not build: "
                              f"{last_line(done.output, 'error')}")

    def build_pristine(self, kinds: set[str],
                       programs: set[str]) -> dict[str, Path]:
        """What the unchanged sources give, by kind."""
        if not (self.source / "runtime").is_dir():
            raise Trouble(f"{self.source} has no folder runtime/")
        self.pristine.mkdir(parents=True, exist_ok=True)
        _copy_changed(self.source / "runtime", self.pristine / "runtime")
        makefile = self.pristine / "Makefile"
        wanted = (self.source / "Makefile").read_bytes()
        if not makefile.exists() or makefile.read_bytes() != wanted:
            makefile.write_bytes(wanted)
        if (self.source / PACKAGE).is_dir():
            shutil.rmtree(self.pristine / PACKAGE, ignore_errors=True)
            copy_package(self.source / PACKAGE, self.pristine / PACKAGE)
        built = (kinds | {"so"}) & set(WAYS)
        self._make(self.pristine, built, programs, self.jobs)
        for kind in built & {"so", "a", "tsan"}:
            self._substance[kind] = substance(self.product(self.pristine,
                                                           kind))
        return {kind: self.product(self.pristine, kind) for kind in built}

    @staticmethod
    def product(tree: Path, kind: str) -> Path:
        """What a build of that kind leaves in a tree: a file, or for unit
        tests the folder of the programs; of Go the sources."""
        if kind == "go":
            return tree / PACKAGE
        way = WAYS[kind]
        return tree / way.folder / way.goal

    def tree(self, mutant: Mutant) -> Path:
        return self.folder / mutant.folder

    def _plant(self, mutant: Mutant, tree: Path) -> list[str]:
        """Makes the fault in a tree; the files it changed."""
        if mutant.fault is not None:
            name = f"runtime/src/{mutant.fault.file}"
            path = tree / name
            path.write_bytes(mutant.fault.apply(path.read_bytes()))
            return [name]
        done = run(["patch", "-p1", "--fuzz=0", "--batch", "--forward",
                    "--no-backup-if-mismatch",
                    "--input", str(mutant.path.resolve())], tree, 60)
        if done.code != 0:
            words = last_line(done.output, "FAILED")
            raise Trouble(f"does not apply: {words}")
        return mutant.targets

    def _copy(self, kinds: set[str], tree: Path) -> None:
        """A tree like the pristine one, as far as these kinds need it."""
        shutil.rmtree(tree, ignore_errors=True)
        tree.mkdir(parents=True)
        shutil.copytree(self.pristine / "runtime", tree / "runtime")
        shutil.copy2(self.pristine / "Makefile", tree / "Makefile")
        for folder in {WAYS[kind].folder for kind in kinds if kind in WAYS}:
            left_out = (None if any(kind.startswith("unit") for kind in kinds)
                        else shutil.ignore_patterns("tests"))
            shutil.copytree(self.pristine / folder / "obj",
                            tree / folder / "obj", ignore=left_out)

    def build(self, mutant: Mutant, programs: set[str] | None = None,
              subjects: tuple[str, ...] = ()) -> dict[str, Path]:
        """What the mutant's sources give, by kind, unit test programs among
        them; Trouble when there is no mutant in it."""
        tree = self.tree(mutant)
        subjects = subjects or mutant.subjects
        kinds = set(subjects)
        if kinds == {"go"}:
            return {"go": self._package(mutant, tree)}
        self._copy(kinds, tree)
        changed = self._plant(mutant, tree)
        if kinds == {"header"}:
            return {"header": tree / HEADER}
        _without(tree, changed)
        silent = ("WARN=-w",) if mutant.fault is not None else ()
        if programs is None:
            programs = {mutant.killer.partition(":")[0]}
        self._make(tree, kinds, programs, 1, silent)
        made = {kind: self.product(tree, kind) for kind in subjects}
        for kind, product in made.items():
            if (kind in self._substance
                    and substance(product) == self._substance[kind]):
                raise Unchanged(f"changes nothing: the {LABELS[kind]} is the "
                                "same")
        return made

    def _package(self, mutant: Mutant, tree: Path) -> Path:
        """The sources of the Go package with the fault in them."""
        shutil.rmtree(tree, ignore_errors=True)
        shutil.copytree(self.pristine / PACKAGE, tree / PACKAGE)
        self._plant(mutant, tree)
        return tree / PACKAGE

    def build_as(self, mutant: Mutant, kind: str) -> Path:
        """The mutant's library of that kind, whatever its header names."""
        return self.build(mutant, set(), (kind,))[kind]

    def tidy(self, mutant: Mutant) -> None:
        """Drops what only the build needed."""
        tree = self.tree(mutant)
        for name in ("build/obj", "build-tsan/obj", "build-asan/obj",
                     "runtime/src", "runtime/tests"):
            shutil.rmtree(tree / name, ignore_errors=True)
