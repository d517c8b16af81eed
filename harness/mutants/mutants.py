#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""
Plants each fault of this folder, and each that can be generated for the hot
files, into a copy of the reference runtime and asks gusset-conform to find it.
How to add one, and what the words mean: README.md.

Exit codes: 0 every mutant killed, 1 one survived, 2 usage, 3 not judged (a
BROKEN mutant, a claim that does not hold, or the unchanged runtime fails a
killer case).
"""

from __future__ import annotations

import argparse
import fnmatch
import os
import sys
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

sys.dont_write_bytecode = True

from discover import Search
from generated import Generated, load_generated
from judge import Judge
from matrix import Matrix
from patches import Mutant, load_all
from report import (Console, conclude, list_mutants, report_claims,
                    report_map, report_unproven, write_kills, write_report)
from session import Session
from sites import NoParser
from workshop import Trouble, Workshop

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
TABLE = "generated.tsv"

# The judge mostly waits.
RUNS_PER_CPU = 3


class UsageError(Exception):
    """What is wrong with the command line; one line."""


def parse_arguments(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="mutants.py", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("names", nargs="*", metavar="NAME",
        help="names or globs; all by default")
    add("--list", action="store_true", help="list the mutants and end")
    add("--format", choices=("text", "json"), default="text",
        help="of --list")
    add("--full", action="store_true",
        help="run all cases against each mutant and write the kill matrix, "
        "OUT/matrix.json; goes on where it was interrupted")
    add("--kills", type=Path, metavar="FILE",
        help="write the table of proofs, docs/data/kills.tsv: of the killers, "
        "after --full of all cases")
    add("--discover", action="store_true",
        help="propose rows for generated mutants that nobody speaks of")
    add("--quick", action="store_true",
        help="--discover: a few cases and the unit tests only")
    add("--cases", action="append", default=[], metavar="GLOB",
        help="--discover: try these cases in place of all")
    add("--only", choices=("named", "generated"),
        help="one of the two kinds")
    add("--jobs", type=int, default=RUNS_PER_CPU * (os.cpu_count() or 1),
        help=f"mutants at a time (default: {RUNS_PER_CPU} for each "
        "processor)")
    add("--conform", type=Path, default=ROOT / "build/bin/gusset-conform",
        help="the judge (default build/bin/gusset-conform)")
    add("--conform-tsan", type=Path,
        default=ROOT / "build/tsan/bin/gusset-conform",
        help="the same with cases under ThreadSanitizer")
    add("--patches", type=Path, default=HERE,
        help="the folder of patches and generated.tsv (default: this one)")
    add("--source", type=Path, default=ROOT,
        help="the checkout to mutate (default: this one)")
    add("--out", type=Path, default=ROOT / "build/mutants",
        help="where to build and report")
    add("--timeout-scale", default="1", help="as for gusset-conform")
    options = parser.parse_args(words)
    if options.jobs < 1:
        parser.error("--jobs must be at least 1")
    return options


def choose(mutants: list[Mutant], names: list[str]) -> list[Mutant]:
    """The mutants that any name or glob selects; each must select one."""
    if not mutants:
        raise UsageError("the folder holds no *.patch")
    for name in names:
        if not fnmatch.filter([mutant.name for mutant in mutants], name):
            raise UsageError(f"no mutant is named {name}")
    return [mutant for mutant in mutants if not names
            or any(fnmatch.fnmatchcase(mutant.name, name) for name in names)]


def load(options: argparse.Namespace) -> tuple[list[Mutant], Generated]:
    """The named mutants and the generated ones."""
    named = load_all(options.patches)
    if options.only == "named":
        return named, Generated()
    try:
        return named, load_generated(options.source,
                                     options.patches / TABLE)
    except NoParser as error:
        raise UsageError(str(error)) from error


def discover(options: argparse.Namespace, session: Session,
             mutants: list[Mutant]) -> int:
    """Prints a row for each mutant that some case finds."""
    session.prepare({"so", "tsan", "unit", "unit-tsan", "unit-asan"}, None)
    search = Search(session.judge, session.shop, options.source,
                    options.quick, options.cases)
    left = 0
    with ThreadPoolExecutor(options.jobs) as pool:
        for done in as_completed([pool.submit(search.one, mutant)
                                  for mutant in mutants]):
            found = done.result()
            if found.row is not None:
                session.console.line(found.row.text())
            else:
                left += 1
                session.console.line(f"# {found.mutant.name}: {found.said}")
            session.shop.tidy(found.mutant)
    return 1 if left else 0


def work(options: argparse.Namespace) -> int:
    named, generated = load(options)
    everything = named + generated.mutants
    known = {mutant.name for mutant in everything}
    if options.only == "generated":
        everything = generated.mutants
    mutants = choose(everything + generated.equivalent, options.names)
    console = Console()
    if options.list:
        return list_mutants(console, mutants, options.format)
    judge = Judge(options.conform.resolve(), options.conform_tsan.resolve(),
                  options.source.resolve(), options.timeout_scale)
    if not judge.program.is_file():
        raise UsageError(f"there is no judge {options.conform}; "
                         "`make mutants` builds it")
    shop = Workshop(options.source.resolve(), options.out.resolve(),
                    options.jobs)
    session = Session(judge, shop, console, options.jobs)
    if options.discover:
        return discover(options, session, [mutant for mutant in mutants
                                           if mutant in generated.unjudged])
    equivalent = [mutant for mutant in mutants
                  if mutant in generated.equivalent]
    judged = [mutant for mutant in mutants if mutant not in equivalent]
    whole = not options.names and options.only is None
    if options.kills and not whole:
        raise UsageError("the table of proofs is written from a run of all "
                         "mutants only")
    outcomes = session.judge_all(judged)
    tested = options.full and not session.refused
    if tested:
        matrix = Matrix(session, options.out.resolve() / "cache")
        outcomes += matrix.fill(outcomes, equivalent)
    if options.kills and not session.refused:
        write_kills(options.kills, outcomes, session.cases)
    report_map(console, outcomes)
    broken_claims = report_claims(console, outcomes, session.cases,
                                  known, options.only)
    report_unproven(console, outcomes, session.cases, whole and options.full)
    write_report(shop.folder, outcomes)
    return conclude(console, outcomes, session.looked_again, broken_claims,
                    0 if tested else len(equivalent))


def main(words: list[str]) -> int:
    options = parse_arguments(words)
    try:
        return work(options)
    except (UsageError, Trouble) as error:
        print(f"mutants.py: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("mutants.py: interrupted", file=sys.stderr)
        return 3


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
