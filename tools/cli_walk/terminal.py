"""tmux: a command in a pane, and what the pane shows."""
import subprocess
import time
from pathlib import Path

from .running import LONGEST, Trouble, environment

# The title is set when the command has ended. tmux has then taken in everything before it.
SCRIPT = """#!/bin/sh
trap : INT
. "$1"
printf '\\033]2;ended %s %s\\033\\\\' "$2" "$?"
exec cat >/dev/null
"""


class Pane:
    def __init__(self, status, text, wrapped):
        self.status, self.text = status, text
        self.wrapped = wrapped  # lines that were longer than the pane is wide


class Tmux:
    """A server of its own, with a pane for each width."""

    def __init__(self, directory, widths, rows=24):
        self.directory = Path(directory)
        self.widths, self.number = widths, 0
        (self.directory / "pane.sh").write_text(SCRIPT)
        for width in widths:
            self.ask("new-session", "-d", "-s", f"w{width}", "-x", str(width), "-y", str(rows),
                     "cat")
        self.ask("set-option", "-g", "history-limit", "5000")
        self.ask("set-option", "-g", "status", "off")
        self.ask("set-option", "-g", "escape-time", "0")

    def ask(self, *words):
        done = subprocess.run(["tmux", "-S", str(self.directory / "tmux.sock"), "-f", "/dev/null",
                               *words], capture_output=True, text=True, timeout=LONGEST,
                              env=environment(SHELL="/bin/sh"))
        if done.returncode != 0:
            raise Trouble(f"tmux {words}: {done.stderr}")
        return done.stdout

    def begin(self, width, line):
        """Starts a line of a shell in the pane of that width."""
        self.number += 1
        (self.directory / "line.sh").write_text(line + "\n")
        self.ask("clear-history", "-t", f"w{width}")
        self.ask("respawn-pane", "-k", "-t", f"w{width}",
                 f"sh {self.directory}/pane.sh {self.directory}/line.sh {self.number}")

    def shown(self, width, joined=True):
        words = ["capture-pane", "-p", "-S", "-", "-t", f"w{width}"]
        return self.ask(*words, *(["-J"] if joined else []))

    def until(self, width, is_so, what):
        end = time.monotonic() + LONGEST
        while True:
            text = self.shown(width)
            if is_so(text):
                return text
            if time.monotonic() > end:
                raise Trouble(f"the pane never showed {what}, but:\n{text}")
            time.sleep(0.01)

    def type(self, width, *keys):
        self.ask("send-keys", "-t", f"w{width}", *keys)

    def end(self, width):
        """Waits until the line has ended."""
        begin = f"ended {self.number} "
        end = time.monotonic() + LONGEST
        while True:
            title = self.ask("display-message", "-p", "-t", f"w{width}", "#{pane_title}").strip()
            if title.startswith(begin):
                break
            if time.monotonic() > end:
                raise Trouble(f"the pane does not come to an end:\n{self.shown(width)}")
            time.sleep(0.002)
        joined = [line.rstrip() for line in self.shown(width).split("\n")]
        while joined and not joined[-1]:
            joined.pop()
        wrapped = [line for line in joined if len(line) > width]
        return Pane(int(title[len(begin):]), "\n".join(joined) + "\n", wrapped)

    def run(self, width, line, typed=()):
        """`typed`: pairs of what the pane has to show, and the keys that are then pressed."""
        self.begin(width, line)
        self.before = ""  # what the pane showed when the first keys were pressed
        for when, keys in typed:
            text = self.until(width, lambda text, when=when: when in text, repr(when))
            self.before = self.before or text
            self.type(width, *keys)
        return self.end(width)

    def close(self):
        self.ask("kill-server")
