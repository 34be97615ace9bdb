"""The same commands before daemons that are absent, starting, draining and dying, and others that
are not as usual."""
import json
import os
import shlex
import socket
import subprocess
import time

from .cases import CASES, Case
from .running import Daemon, Follower, Said, Trouble, environment, eventually, off_terminal

# Commands that say something without a daemon, and end with another status than 3.
KNOW_MORE = {"version": 0, "mcp": 0}
# The page of metrics is there as soon as anything listens.
WHILE_STARTING = {**KNOW_MORE, "metrics": 0}


def one_case_of_each_verb():
    """The first that goes well: with it a command comes as far as to ask the daemon."""
    found = {}
    for case in CASES:
        if case.daemon and case.status == 0 and "--local" not in case.words:
            found.setdefault(case.verb, case)
    return list(found.values()) + [Case("shutdown")]


def report(walk, page, case, said):
    """What commands said, and how they ended; those that said the same stand together."""
    walk.reach(case, said.status, page)
    lines = walk.plain.text(said.err or said.out).strip().split("\n")
    text = f"exit {said.status}\n" + "\n".join(lines[:3]) + "\n"
    walk.together.setdefault(page, {}).setdefault(text, []).append(
        f"$ tiffany {case.verb} {case.words}".rstrip())


def add_together(walk):
    for page, texts in walk.together.items():
        for text, commands in texts.items():
            walk.golden.add(page, "\n".join(commands), text)


def absent(walk):
    for case in one_case_of_each_verb():
        said = off_terminal(walk.words_of(case, socket=str(walk.world.work / "absent.sock")))
        report(walk, "state absent", case, said)
        walk.expect(case, said.status, KNOW_MORE.get(case.verb, 3), "no daemon", said)
        if "tiffany serve" not in said.err + said.out and case.verb != "mcp":
            walk.complain(case, "no daemon", f"does not say what to do: {said}")


def start_many(path, count):
    """Tasks that sleep, over one connection."""
    body = json.dumps({"type": "naps"})
    request = (f"POST /api/v1/tasks HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json"
               f"\r\ncontent-length: {len(body)}\r\n\r\n{body}").encode()
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(20)
        connection.connect(path)
        answers = b""
        for first in range(0, count, 100):
            connection.sendall(request * min(100, count - first))
            while answers.count(b"HTTP/1.1 201") < first + 100:
                answers += connection.recv(1 << 20)


# The code of the first task that is resumed waits at a gate, and with it the process. Requests come
# meanwhile, and are answered while the other tasks are resumed.
def starting(walk):
    world = walk.world
    daemon = world.serve(world.depot, "starting")
    start_many(daemon.socket, 3000)
    daemon.kill()
    gate = world.work / "gate"
    os.mkfifo(gate)
    daemon.variables = {"DEPOT_GATE": str(gate)}
    cases = one_case_of_each_verb()
    for first in range(0, len(cases), 5):
        some = cases[first:first + 5]
        words = [walk.words_of(case, socket=daemon.socket) for case in some]
        daemon.start(wait=False)
        hold = os.open(gate, os.O_WRONLY)  # when the daemon is there
        asked = [subprocess.Popen(each, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True, env=environment())
                 for each in words]
        time.sleep(0.4)  # until all of them have sent their request
        os.close(hold)
        for case, process in zip(some, asked):
            out, err = process.communicate(timeout=30)
            while_starting(walk, case, Said(process.returncode, out, err))
        daemon.kill()


def while_starting(walk, case, said):
    report(walk, "state starting", case, said)
    walk.expect(case, said.status, WHILE_STARTING.get(case.verb, 3), "starting", said)
    if "starting" not in said.err + said.out and case.verb not in ("mcp", "metrics"):
        walk.complain(case, "starting", f"does not say so: {said}")


def draining(walk):
    world = walk.world
    daemon = world.serve(world.depot, "draining", "--drain", "60s", "--plans",
                         str(world.work / "plans"))
    task = world.must("start", "stays", socket=daemon.socket)
    eventually(lambda: "stay#1" in world.run("logs", task, socket=daemon.socket).out, "a step")
    waiting = Follower([world.tiffany, "--socket", daemon.socket, "watch", task, "--reconnect",
                        "500ms"], world.work)
    waiting.until("stay#1")
    daemon.terminate()
    eventually(lambda: world.run("start", "naps", socket=daemon.socket).status == 3, "the end")
    said = waiting.end()
    report(walk, "state draining", Case("watch", "TASK --reconnect 500ms"), said)
    for case in one_case_of_each_verb():
        said = off_terminal(walk.words_of(case, socket=daemon.socket))
        report(walk, "state draining", case, said)
        if (case.changes or case.verb == "shutdown") and said.status == 0:
            walk.complain(case, "draining", f"is not refused: {said}")
        if "No daemon answers" in said.err:
            walk.complain(case, "draining", f"takes it for one that is not there: {said}")
    daemon.stop()


def on(daemon, world, *words):
    return [world.tiffany, "--socket", daemon.socket, *words]


def dying(walk):
    """kill -9 while a command follows a task: it goes on with the next daemon, or gives up."""
    world = walk.world
    world.file("plans/slow.yaml", world.slow_plan("1.5"))
    daemon = world.serve(world.depot, "dying", "--agents", world.agents)
    followers = (
        ("watch {task}", "started"),
        ("logs --follow {task}", "started"),
        ("result --wait {task}", ""),
        ("start listens --id {name} --watch", "started"),
        ("run {work}/plans/slow.yaml", "running"),
        ("agent 'Make the tests pass.' --repo {repository} --script {work}/fix.json"
         " --id {name} --through-approvals", "Waits for"),
        ("top -b -d 100ms -n 20", "pid"),
    )
    for words, begins in followers:
        for comes_back in (True, False):
            follow_death(walk, daemon, words, begins, comes_back)
    daemon.stop()


def follow_death(walk, daemon, words, begins, comes_back):
    world = walk.world
    name = world.name()
    task = world.must("start", "listens", "--id", name + "x", socket=daemon.socket)
    given = {"task": task, "name": name, "work": world.work, "repository": world.repository()}
    line = shlex.split(words.format(**given))
    line += [] if line[0] == "top" or comes_back else ["--reconnect", "1s"]
    case = Case(words.split()[0], words)
    follower = Follower(on(daemon, world, *line), world.work)
    if begins:
        follower.until(begins)
    else:
        time.sleep(0.3)
    daemon.kill()
    if comes_back:
        time.sleep(0.2)
        daemon.start()
        if line[0] in ("watch", "logs", "result", "start"):
            told = follower.said().out.split("\n")[0] if line[0] == "start" else task
            world.must("signal", told, "word", '"hello"', socket=daemon.socket)
        if line[0] == "agent":
            follower.until("back")
            told = json.loads(world.must("-o", "json", "promises", socket=daemon.socket))
            world.must("approve", "-y", told["promises"][-1]["task"], socket=daemon.socket)
    said = follower.end()
    how = "kill -9, and it comes back" if comes_back else "kill -9 for good"
    walk.reach(case, said.status, how)
    out = "" if line[0] == "top" else said.out  # pictures, as many as there was time for
    text = walk.plain.text(out + said.err)
    walk.golden.add("state dying", f"$ tiffany {words}   {how}, exit {said.status}", text)
    if line[0] == "top":
        wanted = 3
    else:
        wanted = 0 if comes_back else 3
        count = said.err.count("Lost the daemon"), said.err.count("The daemon is back.")
        if count != (1, 1 if comes_back else 0):
            walk.complain(case, how, f"says so {count} times: {said.err}")
    if said.status != wanted:
        walk.complain(case, how, f"ended with {said.status} instead of {wanted}: {said}")
    if not comes_back:
        daemon.start()


def interrupted(walk):
    """Ctrl-C detaches."""
    world = walk.world
    task = world.listener()
    followers = (("watch", task), ("logs", f"--follow {task}"), ("result", f"--wait {task}"))
    for verb, words in followers:
        line = [world.tiffany, "--socket", world.socket, verb, *words.split()]
        shown = "started" if verb != "result" else ""
        case = Case(verb, "TASK")
        walk.tmux.begin(80, shlex.join(line))
        walk.tmux.until(80, lambda text, shown=shown: shown in text, "the task")
        time.sleep(0.3)
        walk.tmux.type(80, "C-c")
        pane = walk.tmux.end(80)
        walk.panes += f"#### {verb}, Ctrl-C\n{pane.text}"
        walk.expect(case, pane.status, 130, "Ctrl-C", pane.text)
        walk.golden.add("state interrupted", f"$ tiffany {verb} TASK, Ctrl-C   exit {pane.status}",
                        walk.plain.text(pane.text))
        if "Detached" not in pane.text:
            walk.complain(case, "Ctrl-C", f"does not say how to come back: {pane.text}")


def odd(walk, page, wanted, daemon, verb, words=""):
    said = off_terminal(on(daemon, walk.world, verb, *words.split()))
    case = Case(verb, "TASK" if words else "")
    report(walk, page, case, said)
    walk.expect(case, said.status, wanted, page, said)


def others(walk):
    world = walk.world
    page = "state others"
    rejected = world.order()
    world.must("reject", "--error", "too dear", rejected)
    odd(walk, page, 7, world.daemon, "result", f"--wait {rejected}")
    circle = world.serve(world.depot, "circle", DEPOT_CIRCLE="1")
    eventually(lambda: world.run("problems", socket=circle.socket).status != 0, "a circle")
    for verb in ("problems", "tree"):
        odd(walk, page, 11, circle, verb)
    odd(walk, page, 1, circle, "doctor")
    circle.stop()
    differs = Daemon(world.depot, world.work / "differs", DEPOT_DIFFERS="1")
    world.daemons.append(differs)
    world.must("backup", world.work / "before")
    off_terminal([world.tiffany, "restore", str(world.work / "before"), str(differs.data)])
    differs.start()
    for verb in ("result", "inspect", "replay", "watch"):
        odd(walk, page, 10, differs, verb, world.waiting_order)
    differs.stop()
    damaged = Daemon(world.depot, world.work / "damaged")
    world.daemons.append(damaged)
    os.rename(world.damaged_log(b"payment", b"pavement"[:7]), damaged.data)
    os.chmod(damaged.data, 0o700)
    damaged.start()
    odd(walk, page, 12, damaged, "result", world.waiting_order)
    odd(walk, page, 0, damaged, "show", world.waiting_order)
    damaged.stop()


def serving(walk):
    """serve and shutdown."""
    world = walk.world
    daemon = world.serve(world.tiffany, "serving")
    case = Case("serve")
    for words, wanted in ((["--data", str(daemon.data)], 1),
                          (["--data", world.place(), "--listen", "0.0.0.0:0"], 1),
                          (["--data", world.place(), "--listen", "nowhere"], 1),
                          (["--data", world.place(), "--agents", "/nothing.json"], 1),
                          (["--dance"], 2)):
        said = off_terminal([world.tiffany, "serve", *words])
        case = Case("serve", " ".join(words))
        text = walk.plain.text(said.out + said.err)
        walk.golden.add("serve", f"$ tiffany serve {walk.plain.text(' '.join(words))}   exit "
                        f"{said.status}", text)
        walk.expect(case, said.status, wanted, "serve", said)
    said = off_terminal(on(daemon, world, "shutdown", "-m", "for the night"))
    report(walk, "shutdown", Case("shutdown", "-m 'for the night'"), said)
    walk.expect(Case("shutdown"), said.status, 0, "shutdown", said)
    ended = daemon.process.wait(20)
    walk.golden.add("serve", f"$ tiffany serve   ended by shutdown, exit {ended}",
                    walk.plain.text(daemon.log.read_text()))
    walk.walked |= {"serve", "shutdown"}


def walk_states(walk):
    walk.together = {}
    for part in (absent, starting, draining, dying, interrupted, others, serving):
        try:
            part(walk)
        except (Trouble, subprocess.TimeoutExpired) as trouble:
            walk.complaints.append(f"{part.__name__}: {trouble}")
    add_together(walk)
