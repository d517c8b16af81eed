# SPDX-License-Identifier: MIT OR Apache-2.0
"""
Finds the places of a C file where a small fault can be made: memory orders,
comparisons, boundaries, guards. The file is read by libclang, so that a site
is an expression and never a chance match of characters.
"""

from __future__ import annotations

import ctypes
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Iterator

# Debian installs the bindings for its own interpreter only; they are plain
# Python and serve any other.
DEBIAN_PACKAGES = "/usr/lib/python3/dist-packages"

HOT_FILES = ("queue.c", "ring.c", "completion.c", "handle.c")

ATOMIC = re.compile(
    r"GST_(LOAD|STORE|ADD|SUB|OR|AND|SWAP|CAS|CAS_STRONG)"
    r"_(ACQUIRE|RELEASE|ACQ_REL|SEQ)")
FUNCTION_OF = {"LOAD": "load", "STORE": "store", "ADD": "fetch_add",
               "SUB": "fetch_sub", "OR": "fetch_or", "AND": "fetch_and",
               "SWAP": "exchange", "CAS": "compare_exchange_weak",
               "CAS_STRONG": "compare_exchange_strong"}
# A compare-and-swap that fails stores nothing, so it cannot release.
ON_FAILURE = {"relaxed": "relaxed", "acquire": "acquire",
              "release": "relaxed", "acq_rel": "acquire"}

COMPARE = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=",
           "!=": "=="}
# Functions that answer whether a call may go on; FFI_OK is their yes.
CHECKS = re.compile(r"check_\w+|pass_gate")
LEAVES = ("RETURN_STMT", "BREAK_STMT", "CONTINUE_STMT", "GOTO_STMT")
ASSERTIONS = ("GST_ASSERT",)


class NoParser(Exception):
    """libclang is not there; the text says what to install."""


@dataclass(frozen=True)
class Site:
    """One fault: bytes start..end of the file become `replacement`."""

    file: str
    function: str
    operator: str
    ordinal: int
    start: int
    end: int
    replacement: str
    before: str
    after: str
    line: int

    @property
    def name(self) -> str:
        return f"{self.file}/{self.function}/{self.operator}/{self.ordinal}"


def _bindings() -> Any:
    """clang.cindex, or NoParser."""
    try:
        import clang.cindex as cindex
    except ImportError:
        sys.path.append(DEBIAN_PACKAGES)
        try:
            import clang.cindex as cindex
        except ImportError as error:
            raise NoParser("the Python bindings of libclang are missing "
                           "(Debian package python3-clang)") from error
    return cindex


def weaker(operation: str, order: str) -> tuple[str, ...]:
    """The orders below, as C11 names them; strongest first."""
    if order in ("ACQUIRE", "RELEASE"):
        return ("relaxed",)
    if order == "ACQ_REL":
        return ("acquire", "release", "relaxed")
    half = {"LOAD": "acquire", "STORE": "release"}.get(operation, "acq_rel")
    return (half, "relaxed")


def _arguments(text: str) -> list[str]:
    """The arguments of a macro call, split at the commas of its own level."""
    inside = text[text.index("(") + 1:text.rindex(")")]
    parts, depth, start = [], 0, 0
    for at, letter in enumerate(inside):
        if letter in "([":
            depth += 1
        elif letter in ")]":
            depth -= 1
        elif letter == "," and depth == 0:
            parts.append(inside[start:at])
            start = at + 1
    return [part.strip() for part in parts + [inside[start:]]]


def with_order(text: str, operation: str, order: str) -> str:
    """The same atomic operation with another order, in C11's own words."""
    words = _arguments(text) + [f"memory_order_{order}"]
    if operation.startswith("CAS"):
        words.append(f"memory_order_{ON_FAILURE[order]}")
    return f"atomic_{FUNCTION_OF[operation]}_explicit({', '.join(words)})"


def flat(text: str) -> str:
    """One line, single blanks."""
    return " ".join(text.split())


class Reader:
    """Reads one file."""

    def __init__(self, path: Path, include: list[Path]) -> None:
        self.clang = _bindings()
        self.path = path
        self.text = path.read_bytes()
        arguments = ["-std=c11", "-D_GNU_SOURCE",
                     *(f"-I{folder}" for folder in include)]
        try:
            self.unit = self.clang.Index.create().parse(
                str(path), args=arguments, options=1)
        except Exception as error:  # whatever the bindings raise
            raise NoParser(f"libclang cannot read {path.name}: "
                           f"{error}") from error
        errors = [said for said in self.unit.diagnostics
                  if said.severity >= self.clang.Diagnostic.Error]
        if errors:
            raise NoParser(f"libclang on {path.name}: {errors[0]}")
        self.found: list[tuple[str, int, int, str, str]] = []
        self.functions = [(node.spelling, *self.span(node))
                          for node in self.own(self.unit.cursor)
                          if node.kind.name == "FUNCTION_DECL"
                          and node.is_definition()]

    def own(self, root: Any) -> Iterator[Any]:
        """The children of `root` that lie in this file."""
        for node in root.get_children():
            place = node.location.file
            if place is not None and place.name == str(self.path):
                yield node

    def offset(self, location: Any) -> int:
        """Where it was written, inside a macro's arguments too."""
        value = ctypes.c_uint()
        self.clang.conf.lib.clang_getFileLocation(
            location, None, None, None, ctypes.byref(value))
        return value.value

    def span(self, node: Any) -> tuple[int, int]:
        return (self.offset(node.extent.start), self.offset(node.extent.end))

    def said(self, start: int, end: int) -> str:
        return self.text[start:end].decode()

    def add(self, operator: str, node: Any, after: str,
            shown: Any = None) -> None:
        """A fault in place of `node`; the text shown is that of `shown`."""
        start, end = self.span(node)
        left, right = self.span(shown) if shown is not None else (start, end)
        whole = self.said(left, right)
        changed = (self.said(left, start) + after + self.said(end, right))
        self.found.append((operator, start, end, flat(whole) + "\t"
                           + flat(changed), after))

    def macros(self) -> None:
        """Memory orders."""
        for node in self.own(self.unit.cursor):
            if node.kind.name != "MACRO_INSTANTIATION":
                continue
            match = ATOMIC.fullmatch(node.spelling)
            if match:
                text = self.said(*self.span(node))
                for order in weaker(*match.groups()):
                    self.add(f"order-{order}", node,
                             with_order(text, match.group(1), order))

    def forbidden(self) -> list[tuple[int, int]]:
        """What an assertion says is no behaviour."""
        return [self.span(node) for node in self.own(self.unit.cursor)
                if node.kind.name == "MACRO_INSTANTIATION"
                and node.spelling in ASSERTIONS]

    def binary(self, node: Any, parent: Any) -> None:
        """Comparisons and the steps of one."""
        left, right = list(node.get_children())
        end, start = self.span(left)[1], self.span(right)[0]
        sign = self.said(end, start).strip()
        lhs, rhs = self.said(*self.span(left)), self.said(*self.span(right))
        if sign in COMPARE:
            self.add("compare", node, f"{lhs} {COMPARE[sign]} {rhs}")
        elif sign in ("+", "-") and rhs == "1":
            self.add("drop-one", node, lhs, parent)

    def literal(self, node: Any, parent: Any) -> None:
        text = self.said(*self.span(node))
        match = re.fullmatch(r"(0[xX][0-9a-fA-F]+|\d+)([uUlL]*)", text)
        if match:
            value = int(match.group(1), 0) + 1
            self.add("constant", node, f"{value}{match.group(2)}", parent)

    def guard(self, node: Any) -> None:
        """An `if` whose only branch leaves: it is asked, and not heeded."""
        parts = list(node.get_children())
        if len(parts) != 2:
            return
        last = parts[1]
        if last.kind.name == "COMPOUND_STMT":
            inside = list(last.get_children())
            last = inside[-1] if inside else last
        if last.kind.name in LEAVES:
            asked = self.said(*self.span(parts[0]))
            self.add("guard", parts[0], f"({asked}) && 0", None)

    def call(self, node: Any, parent: Any) -> None:
        """A call whose answer nobody reads is left out; a check says yes."""
        if self.is_statement(node, parent):
            self.add("call", node, "(void)0")
        elif CHECKS.fullmatch(node.spelling or ""):
            self.add("call", node, "FFI_OK")

    @staticmethod
    def is_statement(node: Any, parent: Any) -> bool:
        """Nobody reads its value: it is in a block, or the body of an `if` or
        a loop."""
        if parent.kind.name == "COMPOUND_STMT":
            return True
        parts = list(parent.get_children())
        if parent.kind.name == "IF_STMT":
            return node in parts[1:]
        return (parent.kind.name in ("FOR_STMT", "WHILE_STMT")
                and len(parts) > 1 and node == parts[-1])

    def walk(self, node: Any, parents: list[Any]) -> None:
        kind = node.kind.name
        if kind == "CXX_UNARY_EXPR":
            return  # sizeof evaluates nothing
        parent = self.larger(node, parents)
        if kind == "BINARY_OPERATOR":
            self.binary(node, parent)
        elif kind == "INTEGER_LITERAL":
            self.literal(node, parent)
        elif kind == "IF_STMT":
            self.guard(node)
        elif kind == "CALL_EXPR" and parents:
            self.call(node, parents[-1])
        for child in node.get_children():
            self.walk(child, parents + [node])

    def larger(self, node: Any, parents: list[Any]) -> Any:
        """The next expression around a node that says more than it."""
        start, end = self.span(node)
        for above in reversed(parents):
            left, right = self.span(above)
            if above.kind.is_statement() or right - left > 120:
                break
            if left <= start and end <= right and (left, right) != (start,
                                                                    end):
                return above
        return None


def _kept(reader: Reader) -> list[tuple[str, int, int, str, str, str]]:
    """What lies in a function, outside assertions, each once, in order."""
    forbidden = reader.forbidden()
    kept = set()
    for operator, start, end, shown, after in reader.found:
        if any(left <= start < right for left, right in forbidden):
            continue
        for name, left, right in reader.functions:
            if left <= start and end <= right and start < end:
                kept.add((operator, start, end, shown, after, name))
    return sorted(kept, key=lambda item: (item[1], item[0], item[2], item[4]))


def sites(path: Path, include: list[Path]) -> list[Site]:
    """All faults of one file, in the order of the text."""
    reader = Reader(path, include)
    reader.macros()
    for node in reader.own(reader.unit.cursor):
        if node.kind.name == "FUNCTION_DECL" and node.is_definition():
            reader.walk(node, [])
    counted: dict[tuple[str, str], int] = {}
    result = []
    for operator, start, end, shown, after, function in _kept(reader):
        key = (function, operator)
        counted[key] = counted.get(key, 0) + 1
        before, _, changed = shown.partition("\t")
        result.append(Site(path.name, function, operator, counted[key],
                           start, end, after, before, changed,
                           reader.text.count(b"\n", 0, start) + 1))
    return result


def mutated(text: bytes, site: Site) -> bytes:
    """The file with that fault."""
    return text[:site.start] + site.replacement.encode() + text[site.end:]
