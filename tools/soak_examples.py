#!/usr/bin/env python3
"""soak_examples.py <directory of the programs> [kills] [seed]

Starts the examples that docs/18-durable-tasks.md names on a data directory, kills each with SIGKILL
at random moments, starts it again until it ends, and begins anew until it was killed so often (100
times each). What it prints at its end is how tasks ended and what was done outside, by key: that
must be what a process prints that nobody disturbs. Exits with 1 when anything differs.

Bounded: ten minutes for an example, and two minutes for a life of its process.
"""
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time

EXAMPLES = ("trip", "cart", "fan_out", "nightly")
MOST_SECONDS = 600
MOST_OF_A_LIFE = 120
MOST_BEFORE_A_KILL = 3  # seconds
KILLS_IN_A_ROUND = 12  # then it may live to its end: what is replayed grows, and so does a life


class Wrong(Exception):
    pass


def live(program, directory, seconds=None):
    """One life of the process. Gives what it printed; none: it was killed after so many seconds."""
    process = subprocess.Popen([program, directory], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        out, err = process.communicate(timeout=MOST_OF_A_LIFE if seconds is None else seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        if seconds is None:
            raise Wrong(f"it has not ended after {MOST_OF_A_LIFE} s") from None
        return None
    if process.returncode != 0:
        raise Wrong(f"it ended with {process.returncode}: {err.decode(errors='replace')}")
    return out.decode()


def effects_of(directory):
    """How many effects there were, and how many of them with a key that was there before."""
    with open(os.path.join(directory, "outside.txt"), encoding="utf-8") as kept:
        added = [line for line in kept if line.startswith("+")]
    return len(added), len(added) - len(set(added))


def soak(name, program, place, kills, chance):
    began = time.monotonic()
    undisturbed = os.path.join(place, name + ".undisturbed")
    os.mkdir(undisturbed)
    expected = live(program, undisturbed)
    lasted = time.monotonic() - began
    if not expected or effects_of(undisturbed)[1] > 0:
        raise Wrong(f"an undisturbed run does something twice, or nothing: {expected}")
    killed = rounds = effects = again = 0
    while killed < kills and time.monotonic() - began < MOST_SECONDS:
        directory = os.path.join(place, f"{name}.{rounds}")
        os.mkdir(directory)
        printed, in_this = None, 0
        while printed is None:
            spared = in_this == KILLS_IN_A_ROUND or killed == kills
            moment = chance.uniform(0, min(1.2 * lasted, MOST_BEFORE_A_KILL))
            printed = live(program, directory, None if spared else moment)
            in_this += printed is None
            killed += printed is None
        if printed != expected:
            raise Wrong(f"after {in_this} kills in {directory} it printed:\n{printed}\n"
                        f"instead of:\n{expected}")
        all_of_it, repeated = effects_of(directory)
        effects, again, rounds = effects + all_of_it, again + repeated, rounds + 1
        shutil.rmtree(directory)
    print(f"{name}: killed {killed} times in {rounds} runs of {lasted:.2f} s; {effects} effects, "
          f"{again} of them again with the same key; each run ended as an undisturbed one",
          flush=True)


def main():
    if not 2 <= len(sys.argv) <= 4:
        sys.exit(__doc__)
    programs = sys.argv[1]
    kills = int(sys.argv[2]) if len(sys.argv) > 2 else 100
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    place = tempfile.mkdtemp(prefix="soak-examples-", dir="build")
    print(f"{kills} kills each, seed {seed}", flush=True)
    wrong = False
    for name in EXAMPLES:
        try:
            soak(name, os.path.join(programs, name), place, kills, random.Random(f"{seed} {name}"))
        except Wrong as difference:
            print(f"{name}: WRONG: {difference}", flush=True)
            wrong = True
    if wrong:
        sys.exit(f"The data directories are in {place}.")
    shutil.rmtree(place)


main()
