#!/usr/bin/env python3
"""Walks every command of tiffany: off a terminal and on one, with every kind of daemon.

usage: tools/soak_cli.py DIRECTORY [--update] [--panes FILE] [--only TEXT]

DIRECTORY has the programs tiffany, tiffany-run and tests/depot. Each case of
tools/cli_walk/cases.py runs off a terminal, as text and in each format that it offers, and in panes
of tmux of three widths. Checked are exit statuses, that tables fit and are aligned, that no escape
sequences but colours are written, and those only to a terminal that wants them; that JSON is JSON.
What was said is compared with tests/app/golden, without ids and times. Then the same commands meet
daemons that are absent, starting, draining and dying, and bash, zsh and fish complete words.

  --update      writes the golden files anew: read what has changed
  --panes FILE  writes every pane there, as it was
  --only TEXT   only cases with that in their command line
"""
import argparse
import shutil
import sys
import tempfile
import time
from pathlib import Path

from cli_walk.golden import Golden
from cli_walk.running import Trouble
from cli_walk.shells import complete_in_shells
from cli_walk.states import walk_states
from cli_walk.terminal import Tmux
from cli_walk.walk import WIDTHS, Walk
from cli_walk.world import World

GOLDEN = Path(__file__).resolve().parent.parent / "tests" / "app" / "golden"


def main():
    parser = argparse.ArgumentParser(usage=__doc__, add_help=False)
    parser.add_argument("programs")
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--panes")
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    began = time.monotonic()
    work = Path(tempfile.mkdtemp(prefix="tiffany-cli-", dir="/tmp"))
    golden = Golden(GOLDEN, given.update)
    world = tmux = None
    try:
        world = World(Path(given.programs).resolve(), work)
        world.populate()
        tmux = Tmux(work, WIDTHS)
        walk = Walk(world, tmux, golden, given.only)
        if given.only in ("", "shells"):
            complete_in_shells(walk)
        walk.run()
        if given.only in ("", "states"):
            walk_states(walk)
        if not given.only:
            walk.check_complete()
    except Trouble as trouble:
        sys.exit(f"soak_cli: {trouble}")
    finally:
        if tmux is not None:
            tmux.close()
        if world is not None:
            world.close()
        shutil.rmtree(work, ignore_errors=True)
    if given.panes:
        Path(given.panes).write_text(walk.panes)
    if not given.only:
        walk.complaints += golden.compare()
    if given.only:
        for page, parts in golden.pages.items():
            print("\n".join(parts))
    for complaint in walk.complaints:
        print(complaint)
    print(walk.summary(time.monotonic() - began))
    sys.exit(1 if walk.complaints else 0)


if __name__ == "__main__":
    main()
