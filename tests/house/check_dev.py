#!/usr/bin/env python3
"""Runs ./dev where that builds nothing, so that its rarer commands cannot rot.

usage: check_dev.py <repository>

Each target that `bench` and `soak` would build must be in the files of CMake, `help` must name each
command, and what nobody knows must be refused with a sentence.
"""
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(sys.argv[1])
complaints = []


def dev(*words):
    done = subprocess.run(["./dev", *words], cwd=ROOT, capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout, done.stderr


def expect(true, sentence):
    if not true:
        complaints.append(sentence)


def targets():
    """Names of programs, as far as they are written out in the files of CMake."""
    text = "".join((ROOT / name).read_text() for name in
                   ("bench/CMakeLists.txt", "tests/CMakeLists.txt"))
    makers = r"(?:add_executable|tiffany\w*_bench|tiffany_test_program)"
    found = set(re.findall(makers + r"\((\w+)", text))
    return found | {f"bench_io_servers_{peer}"
                    for peer in re.findall(r"tiffany_server_rows\((\w+)", text)}


known = targets()
presets = set(re.findall(r'"name": "([\w-]+)"', (ROOT / "CMakePresets.json").read_text()))

status, out, _ = dev("help")
expect(status == 0, "./dev help fails")
commands = re.search(r"\n  (setup \|.*?)\) \"\$command\"", (ROOT / "dev").read_text()).group(1)
for command in commands.split(" | "):
    expect(re.search(rf"^  {command}\b", out, re.M), f"./dev help does not name {command}")

status, out, _ = dev("soak", "--list")
expect(status == 0 and len(out.splitlines()) >= 6, "./dev soak --list lists nothing")
for line in out.splitlines():
    suite, preset, target = line.split()
    expect(target in known, f"./dev soak {suite} builds {target}, which no CMakeLists.txt has")
    expect(preset in presets, f"./dev soak {suite} uses the preset {preset}, which does not exist")

for suite in ("core", "io", "durable", "observe"):
    for more in ((), ("--quick",)):
        status, out, _ = dev("bench", suite, "--list", *more)
        programs = out.split()
        expect(status == 0 and programs, f"./dev bench {suite} --list lists nothing")
        for program in programs:
            name = program.split("=")[1].split("/")
            if name[:3] != ["build", "bench", "bench"]:
                continue  # built by Go or cargo
            expect(name[-1] in known,
                   f"./dev bench {suite} runs {name[-1]}, which no CMakeLists.txt has")
    expect((ROOT / f"bench/{suite}/rows.txt").exists(), f"bench/{suite}/rows.txt is gone")

for words in (["bench", "nonsense"], ["soak", "nonsense"], ["lint", "--nonsense"],
              ["test", "--nonsense"]):
    status, _, error = dev(*words)
    expect(status == 1 and words[1] in error, f"./dev {' '.join(words)} is not refused: {error}")
expect(dev("nonsense")[0] == 2, "./dev nonsense does not end with 2")

for complaint in complaints:
    print(complaint)
sys.exit(1 if complaints else 0)
