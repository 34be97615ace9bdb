#!/usr/bin/env python3
"""Says which lines no test runs.

usage: coverage.py <report of gcovr --json> <explanations>

Prints the share of the lines that ran, by file, and every line that did not. A line that no test
can run is explained in a Markdown table of file, text of the line and reason; the text and not the
number, which would move. Ends with 1 when a line has no explanation, or an explanation no line.
"""
import collections
import json
import re
import sys

ROW = re.compile(r"\| `(.+?)` \| `(.+)` \| (.+) \|$")


def explained_in(path):
    """How many lines of which file and text are explained."""
    rows = (ROW.match(line.rstrip()) for line in open(path))
    return collections.Counter((row[1], row[2].replace("\\|", "|")) for row in rows if row)


def share(covered, lines):
    # Rounded down: what is not complete must not look so.
    return f"{int(1000 * covered / lines) / 10:5.1f} %" if lines else "    - %"


def main(report, explanations):
    explained = explained_in(explanations)
    missed, unexplained = [], 0
    all_covered = all_lines = 0
    print(f"{'file':<48} {'lines':>6} {'missed':>6}   covered")
    for file in sorted(json.load(open(report))["files"], key=lambda file: file["file"]):
        name = file["file"]
        text = open(name).read().splitlines()
        lines = [line for line in file["lines"] if not line["gcovr/noncode"]]
        not_run = [line["line_number"] for line in lines if line["count"] == 0]
        print(f"{name:<48} {len(lines):>6} {len(not_run):>6}   "
              f"{share(len(lines) - len(not_run), len(lines))}")
        all_covered += len(lines) - len(not_run)
        all_lines += len(lines)
        for number in not_run:
            key = (name, text[number - 1].strip())
            known = explained[key] > 0
            explained[key] -= 1
            unexplained += not known
            missed.append(f"{'' if known else 'NOT EXPLAINED '}{name}:{number}: {key[1]}")
    print(f"{'all':<48} {all_lines:>6} {all_lines - all_covered:>6}   "
          f"{share(all_covered, all_lines)}")
    print("\n" + "\n".join(missed) if missed else "\nEvery line ran.")
    stale = [key for key, count in explained.items() if count > 0]
    for name, line in stale:
        print(f"NOT NEEDED {explanations}: {name}: {line}")
    if unexplained:
        print(f"\n{unexplained} of the lines that no test runs have no explanation in "
              f"{explanations}. Write a test, delete the line, or explain there why it cannot run.")
    if stale:
        print(f"\n{len(stale)} explanations in {explanations} are for lines that run, or are gone. "
              "Delete them.")
    return 1 if unexplained or stale else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
