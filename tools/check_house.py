#!/usr/bin/env python3
"""Checks what no compiler checks: the order of the modules, the width of lines, the links in docs.

usage: tools/check_house.py [directory]      (default: the repository this script is in)

Prints each complaint as file:line: sentence, and exits with 1 when there is one.
"""
import re
import subprocess
import sys
from pathlib import Path

# A module may include headers of itself and of modules before it. `tiffany.hpp` includes what users
# need most, and only programs include it.
MODULES = ["base", "core", "engine", "structure", "sync", "world", "io", "observe", "wal",
           "durable", "exec", "plan", "test", "sim", "shard", "serve", "cluster",
           "agent", "app"]
WIDTH = 100
# Output that a program prints and records as a log holds them: broken lines would be other data.
AS_THEY_ARE = re.compile(
    r"expected_output\.txt$|golden_lines\.hpp$|^LICENSE$|\.lock$|package-lock\.json$|"
    r"^CMakePresets\.json$")
TEXT = re.compile(r"\.(cpp|hpp|md|py|awk|cmake|sh|txt|go|rs|mjs|json)$|^dev$|^\.ci/run$")
INCLUDE = re.compile(r'\s*#\s*include\s*["<]tiffany/(?:detail/)?([a-z_]+)/')
LINK = re.compile(r"\]\(([^)\s]+)\)")


def files(root):
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=root, capture_output=True, text=True, check=True).stdout.split("\n")
    return sorted(name for name in listed if name and (root / name).is_file())


def module_of(name):
    found = re.match(r"(?:include/tiffany/(?:detail/)?|src/)([a-z_]+)/", name)
    return found.group(1) if found else None


def check_includes(name, lines):
    module = module_of(name)
    if module is None:
        return
    if module not in MODULES:
        yield 1, f"{module} is not a module that tools/check_house.py knows"
        return
    for number, line in enumerate(lines, 1):
        found = INCLUDE.match(line)
        if not found:
            continue
        used = found.group(1)
        if used not in MODULES:
            yield number, f"{used} is not a module that tools/check_house.py knows"
        elif MODULES.index(used) > MODULES.index(module):
            yield number, f"{module} may not include {used}, which comes after it"


def check_width(name, lines):
    if not TEXT.search(name) or AS_THEY_ARE.search(name):
        return
    page = name.endswith(".md")
    quoted = False  # output of a program, in a page
    for number, line in enumerate(lines, 1):
        quoted ^= page and line.lstrip().startswith("```")
        if page and (quoted or line.startswith(("    ", "|"))):
            continue
        if len(line) > WIDTH:
            yield number, f"{len(line)} columns; a line has at most {WIDTH}"


# The name by which a heading is linked to, as GitHub makes it.
def anchor(heading):
    text = re.sub(r"[`*]|\[([^\]]*)\]\([^)]*\)", r"\1", heading.lstrip("#").strip()).lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def anchors(path):
    return {anchor(line) for line in path.read_text().split("\n") if line.startswith("#")}


def check_links(root, name, lines):
    if not name.endswith(".md"):
        return
    code = False
    for number, line in enumerate(lines, 1):
        code ^= line.lstrip().startswith("```")
        if code:
            continue
        for target in LINK.findall(re.sub(r"`[^`]*`", "", line)):
            if re.match(r"[a-z]+:", target):
                continue
            path, _, heading = target.partition("#")
            to = (root / name).parent / path if path else root / name
            if not to.exists():
                yield number, f"links to {path}, which does not exist"
            elif heading and to.suffix == ".md" and heading not in anchors(to):
                yield number, f"links to {target}, and {to.name} has no such heading"


def main():
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent
    complaints = 0
    for name in files(root):
        try:
            lines = (root / name).read_text(encoding="utf-8").split("\n")
        except UnicodeDecodeError:
            continue
        for check in (check_includes(name, lines), check_width(name, lines),
                      check_links(root, name, lines)):
            for number, sentence in check:
                print(f"{name}:{number}: {sentence}")
                complaints += 1
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
