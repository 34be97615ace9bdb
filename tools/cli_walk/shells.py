"""Completion in real shells: bash, zsh and fish in a pane, with keys that a person presses."""
import time
from pathlib import Path

from .running import Trouble, off_terminal

SHELLS = {
    "bash": ("bash --norc --noprofile -i", "PS1='READY '",
             'eval "$(tiffany completion bash)"'),
    "zsh": ("zsh -f -i", "PROMPT='READY '; autoload -Uz compinit; compinit -u -D",
            'eval "$(tiffany completion zsh)"'),
    "fish": ("fish --no-config -i", "function fish_prompt; echo 'READY '; end",
             "tiffany completion fish | source"),
}


def cases(world):
    """What is typed before Tab, and what has to stand in the pane then."""
    order = world.waiting_order
    return (
        ("tiffany sched", ["tiffany schedule "]),
        ("tiffany schedule cr", ["tiffany schedule create "]),
        (f"tiffany show {order[:6]}", [f"tiffany show {order}"]),
        ("tiffany approve ", [order, world.two, world.asking_plan]),
        ("tiffany schedule show ni", ["tiffany schedule show nightly"]),
        ("tiffany tokens rm o", ["tiffany tokens rm ops"]),
        ("tiffany start gr", ["tiffany start greet"]),
        ("tiffany completion z", ["tiffany completion zsh"]),
        ("tiffany ps --sta", ["tiffany ps --status"]),
        ("tiffany ps --status quar", ["tiffany ps --status quarantined"]),
        ("tiffany -o jsonl logs --fol", ["tiffany -o jsonl logs --follow"]),
        (f"tiffany run {world.work}/plans/rel", ["plans/release.yaml"]),
    )


class Shell:
    def __init__(self, walk, name):
        self.tmux, self.name, self.prompts = walk.tmux, name, 0
        program, prompt, load = SHELLS[name]
        world = walk.world
        self.tmux.begin(140, f"cd {world.work}; export HOME={world.work} TIFFANY_SOCKET="
                        f"{world.socket} PATH={Path(world.tiffany).parent}:$PATH; exec {program}")
        time.sleep(0.5)
        for line in (prompt, load, "clear"):
            self.tmux.type(140, "-l", line)
            self.tmux.type(140, "Enter")
            time.sleep(0.3)
        self.tmux.until(140, lambda text: text.strip().endswith("READY"), f"a prompt of {name}")

    def complete(self, typed, wanted):
        """The pane once it has what is wanted; Tab may need a second time to show a list."""
        self.tmux.type(140, "-l", typed)
        self.tmux.until(140, lambda text: typed.strip() in text, typed)
        for _ in range(3):
            self.tmux.type(140, "Tab")
            end = time.monotonic() + 1.5
            while time.monotonic() < end:
                text = self.tmux.shown(140)
                if all(each in text for each in wanted):
                    return text, True
                time.sleep(0.02)
        return text, False

    def clear(self):
        self.tmux.type(140, "C-c")
        time.sleep(0.1)
        self.tmux.type(140, "-l", "clear")
        self.tmux.type(140, "Enter")
        time.sleep(0.2)
        self.tmux.ask("clear-history", "-t", "w140")


def without_daemon(walk):
    """A shell does not hang: what nobody says is not offered."""
    began = time.monotonic()
    said = off_terminal([walk.world.tiffany, "__complete", "--", "show", ""],
                        TIFFANY_SOCKET=str(walk.world.work / "absent.sock"))
    if said.status != 0 or said.out or said.err or time.monotonic() - began > 2:
        walk.complaints.append(f"completion without a daemon: {said}")


def complete_in_shells(walk):
    without_daemon(walk)
    for name in SHELLS:
        try:
            shell = Shell(walk, name)
            for typed, wanted in cases(walk.world):
                pane, found = shell.complete(typed, wanted)
                walk.runs += 1
                lines = "\n".join(line.rstrip() for line in pane.rstrip().split("\n"))
                walk.panes += f"#### {name}: {typed}<Tab>\n{lines}\n"
                if not found:
                    walk.complaints.append(f"{name}: {typed}<Tab> does not show {wanted}:\n{lines}")
                shell.clear()
        except Trouble as trouble:
            walk.complaints.append(f"{name}: {trouble}")
