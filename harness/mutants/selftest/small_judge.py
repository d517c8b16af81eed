#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""
Stands for gusset-conform while the mutants' driver is tested: the same command
line, the same results.json, cases about tree/runtime/src.
"""

from __future__ import annotations

import argparse
import ctypes
import fnmatch
import json
import sys
from pathlib import Path

CASES = {"i1.take-small.sum": "i1.take-small",
         "i1.take-small.twice": "i1.take-small",
         "i2.contained.zero": "i2.contained i2.nul-safe",
         "i4.full-refuses.room": "i4.full-refuses",
         "i4.full-refuses.twins": "i4.full-refuses",
         "a.unload.elsewhere": "a.unload",
         "h.close.product": "h.close"}

UNREACHED = ("a.unload.elsewhere",)
GO = ("h.close.product",)


def in_go(package: Path | None) -> str:
    """What a case in Go finds out about the package; None: the sound one."""
    if package is None:
        return ""
    if (package / "module").exists():
        return "product: another module lies in the package"
    text = (package / "small.go").read_text(encoding="utf-8")
    return "" if "return a * b" in text else "product: expected 6"


# What is said at the first look only at a mutant of that name: other words, or
# nothing at all. Later looks see what is there.
FIRST_LOOKS = {"shaky-words": "a busy machine", "shaky-pass": ""}


def first_look(out: Path) -> bool:
    """Of a mutant's own runs, whose results lie in OUT/NAME/run-so."""
    if out.parent.name not in FIRST_LOOKS or not out.name.startswith("run-"):
        return False
    seen = out.parent.parent / f"{out.parent.name}.looked"
    there = seen.exists()
    seen.touch()
    return not there


def strike(case: str, library: ctypes.CDLL) -> str:
    """The failure's words, or '' for a pass."""
    if case.endswith(".sum"):
        expected, actual, what = 5, library.small_sum(2, 3), "sum of 2 and 3"
    elif case.endswith(".twice"):
        expected, actual, what = 8, library.small_twice(4), "twice 4"
    elif case.endswith(".room"):
        expected, actual, what = 0, library.small_room(4), "room for 4"
    elif case.endswith(".twins"):
        expected, actual, what = 0, library.small_twin(2), "twins at 2"
    else:
        expected, actual, what = 0, library.small_twice(0), "twice 0"
    if expected == actual:
        return ""
    return f"{what}: expected {expected}, actual {actual}"


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("verb")
    parser.add_argument("--format")
    parser.add_argument("--impl")
    parser.add_argument("--filter", action="append", default=[])
    parser.add_argument("--out", type=Path)
    parser.add_argument("--exclude", action="append", default=[])
    parser.add_argument("--strict", action="store_true")
    parser.add_argument("--no-self-test", action="store_true")
    parser.add_argument("--jobs")
    parser.add_argument("--timeout-scale")
    parser.add_argument("--effort")
    parser.add_argument("--go")
    parser.add_argument("--go-package", type=Path)
    options = parser.parse_args()
    if options.verb == "list":
        for case, clauses in CASES.items():
            print(json.dumps({"id": case, "clauses": clauses.split(),
                              "needs": ["go"] if case in GO else [],
                              "tags": [], "mutant": None}))
        return 0
    library = ctypes.CDLL(options.impl)
    shaky = first_look(options.out)
    records = []
    for case, clauses in CASES.items():
        if options.filter and not any(fnmatch.fnmatchcase(case, pattern)
                                      for pattern in options.filter):
            continue
        unreached = case in UNREACHED or (case in GO
                                          and options.go == "never")
        if shaky:
            words = FIRST_LOOKS[options.out.parent.name]
        elif case in GO and not unreached:
            words = in_go(options.go_package)
        else:
            words = "" if unreached else strike(case, library)
        records.append({"id": case, "clauses": clauses.split(),
                        "verdict": "OUT-OF-REACH" if unreached
                        else "FAIL" if words else "PASS",
                        "message": words})
    if library.small_results() == 0:
        (options.out / "results.json").write_text(
            json.dumps({"cases": records}))
    forced = library.small_exit_code()
    failed = any(record["verdict"] == "FAIL" for record in records)
    return forced if forced >= 0 else int(failed)


if __name__ == "__main__":
    sys.exit(main())
