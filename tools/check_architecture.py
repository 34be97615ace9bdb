#!/usr/bin/env python3
"""Checks docs/architecture.md against the sources: the page names functions, files and modules.

usage: tools/check_architecture.py [directory]     (default: the repository this script is in)

A line of a drawing names a function and the file that defines it:

    Class::function  (src/path/file.cpp)      what it does

The checks: the file defines that function, and in that class; a drawing has at most 25 lines; the
sentence behind a drawing has the right numbers; every file that the page names exists; the table of
modules has the modules of tools/check_house.py, in their order.

Prints each complaint as file:line: sentence, and exits with 1 when there is one.
"""
import re
import sys
from functools import lru_cache
from pathlib import Path

sys.dont_write_bytecode = True
from check_house import MODULES, module_of  # noqa: E402

PAGE = "docs/architecture.md"
LONGEST = 25
NAMED = re.compile(r"^\s*([A-Za-z_][\w:]*)\s+\(((?:src|include)/[\w/.]+)\)")
COUNTS = re.compile(r"^(\d+) functions, (\d+) hops, (\d+) module crossings\b")
FILE = re.compile(
    r"\b(?:src|include|tests|tools|docs|examples)/[\w/.-]+\.(?:cpp|hpp|md|py|cmake)\b")
ROW = re.compile(r"^\| `(\w+)` \|")
# What may stand between the parameters of a function and its body.
CONDITION = re.compile(r"\s*(?:const\s*)?noexcept\s*(?=\()")
SUFFIX = re.compile(
    r"(?:\s|const\b|noexcept\b|override\b|final\b|&|requires\b[^{;]*|->[^{;]*)*\{")


# Without comments, attributes and the text of literals, in which a name proves nothing.
@lru_cache(maxsize=None)
def code_of(path):
    text = path.read_text(encoding="utf-8")
    literal = r'"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])+\''
    text = re.sub(literal + r"|//[^\n]*|/\*.*?\*/",
                  lambda found: '""' if found.group()[0] in "\"'" else " ", text, flags=re.S)
    return re.sub(r"\[\[.*?\]\]", " ", text, flags=re.S)


# Behind the bracket that closes the one at `start`.
def behind(text, start, opening, closing):
    depth = 0
    for at in range(start, len(text)):
        depth += (text[at] == opening) - (text[at] == closing)
        if depth == 0:
            return at + 1
    return len(text)


# A call has no body behind its arguments.
def defines(text, name):
    for found in re.finditer(name + r"\s*\(", text):
        at = behind(text, found.end() - 1, "(", ")")
        if condition := CONDITION.match(text, at):
            at = behind(text, condition.end(), "(", ")")
        if SUFFIX.match(text, at):
            return True
    return False


def has_function(text, name):
    owner, _, function = name.rpartition("::")
    owner = owner.rpartition("::")[2]
    if not owner:
        return defines(text, rf"(?<!\w)(?<!::){function}")
    if defines(text, rf"\b{owner}(?:<[^<>;{{}}]*>)?::{function}"):
        return True
    for found in re.finditer(rf"\b(?:class|struct)\s+(?:\w+::)*{owner}\b[^;{{()]*\{{", text):
        body = text[found.end() - 1:behind(text, found.end() - 1, "{", "}")]
        if defines(body, rf"\b(?<!::){function}"):
            return True
    return False


def check_drawings(root, lines):
    modules = None  # of the lines of the last drawing
    first = 0       # its line in the page; 0 outside of a drawing
    for number, line in enumerate(lines, 1):
        if first:
            if line.startswith("```"):
                if (length := number - first - 1) > LONGEST:
                    yield first, f"the drawing has {length} lines; {LONGEST} is the most"
                first = 0
                continue
            found = NAMED.match(line)
            if not found:
                continue
            name, path = found.groups()
            modules.append(module_of(path))
            if (root / path).is_file() and not has_function(code_of(root / path), name):
                yield number, f"{path} does not define {name}"
        elif line == "```text":
            if modules:
                yield number, "the drawing before this one has no sentence with its numbers"
            first, modules = number, []
        elif modules and (found := COUNTS.match(line)):
            crossings = sum(a != b for a, b in zip(modules, modules[1:]))
            right = (len(modules), len(modules) - 1, crossings)
            if right != tuple(int(each) for each in found.groups()):
                yield number, ("the drawing has {} functions, {} hops, {} module crossings"
                               .format(*right))
            modules = None
    if modules:
        yield len(lines), "the last drawing has no sentence with its numbers"


def check_files(root, lines):
    for number, line in enumerate(lines, 1):
        for path in FILE.findall(line):
            if not (root / path).is_file():
                yield number, f"names {path}, which does not exist"


def check_modules(lines):
    rows = [(number, found.group(1)) for number, line in enumerate(lines, 1)
            if (found := ROW.match(line))]
    for (number, row), module in zip(rows, MODULES):
        if row != module:
            yield number, f"the table has {row} where tools/check_house.py has {module}"
            return
    if len(rows) != len(MODULES):
        yield 1, f"the table has {len(rows)} modules, and tools/check_house.py {len(MODULES)}"


def main():
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent
    lines = (root / PAGE).read_text(encoding="utf-8").split("\n")
    complaints = [*check_drawings(root, lines), *check_files(root, lines), *check_modules(lines)]
    for number, sentence in complaints:
        print(f"{PAGE}:{number}: {sentence}")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
