#!/usr/bin/env python3
"""Agents with tools of MCP servers of npm: a real daemon, over stdio and HTTP, with kills.

usage: tools/soak_mcp_client.py DIRECTORY MODULES [kills] [seed]

DIRECTORY has the programs tiffany and tiffany-run, MODULES is a node_modules directory with
@modelcontextprotocol/server-everything and server-filesystem. First each kind of answer once. Then
servers are killed `kills` times at random moments while agents call them, and each fifth time the
daemon instead of a server. Then, of each agent: it has completed; a call that may happen once was
answered, or is unknown, and never began twice; one that may be repeated was answered. At the end no
server of a program is left.
"""
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

FREE = {"ask": False, "reads_private": False, "writes_outside": False}
OFTEN = {**FREE, "effect": "idempotent"}


def fail(sentence):
    sys.exit(f"soak_mcp_client: {sentence}")


def free_port():
    with socket.socket() as each:
        each.bind(("127.0.0.1", 0))
        return each.getsockname()[1]


def children_of(pid):
    """The processes below that one, however deep."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            except (OSError, IndexError):
                continue
            if words[0] != "Z":
                parents.setdefault(int(words[1]), []).append(int(entry.name))
    found, ahead = [], [pid]
    while ahead:
        for each in parents.get(ahead.pop(), []):
            found.append(each)
            ahead.append(each)
    return found


class Campaign:
    def __init__(self, programs, modules, kills, seed):
        self.program = str(Path(programs).resolve() / "tiffany")
        self.bin = Path(modules).resolve() / ".bin"
        self.kills, self.random = kills, random.Random(seed)
        self.work = Path(tempfile.mkdtemp(prefix="tiffany-mcp-"))
        self.files = self.work / "files"
        self.files.mkdir()
        self.port = free_port()
        self.daemon = self.service = None
        self.made = self.unknown = self.answered = 0

    # ---- Processes ----

    def write_agents(self):
        traits = {"echo": OFTEN, "get-sum": FREE, "trigger-long-running-operation": FREE,
                  "get-tiny-image": FREE, "get-structured-content": FREE}
        of_files = {name: FREE for name in ("write_file", "move_file")}
        of_files.update({"read_text_file": OFTEN, "list_directory": OFTEN})
        servers = [
            {"name": "every", "command": [str(self.bin / "mcp-server-everything"), "stdio"],
             "idle_s": 2, "traits": traits},
            {"name": "web", "url": f"http://127.0.0.1:{self.port}/mcp", "idle_s": 2,
             "traits": traits},
            {"name": "files", "command": [str(self.bin / "mcp-server-filesystem"),
                                          str(self.files)], "traits": of_files},
            {"name": "gone", "command": ["tiffany-no-such-server"]}]
        (self.work / "agents.json").write_text(json.dumps({"mcp": servers}))

    def serve(self):
        log = open(self.work / "serve.log", "ab")
        self.daemon = subprocess.Popen(
            [self.program, "serve", "--data", str(self.work / "data"),
             "--agents", str(self.work / "agents.json")], stdout=log, stderr=log)
        for _ in range(1500):
            if self.tiffany("ps")[0] == 0:
                return
            if self.daemon.poll() is not None:
                fail(f"the daemon ended: {(self.work / 'serve.log').read_text()[-2000:]}")
            time.sleep(0.02)
        fail("the daemon does not answer")

    def serve_http(self):
        log = open(self.work / "http.log", "ab")
        self.service = subprocess.Popen(
            [str(self.bin / "mcp-server-everything"), "streamableHttp"],
            env={**os.environ, "PORT": str(self.port)}, stdout=log, stderr=log)
        for _ in range(500):
            with socket.socket() as each:
                if each.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.02)
        fail("the HTTP server does not answer")

    def tiffany(self, *words):
        said = subprocess.run([self.program, "--socket", str(self.work / "data/tiffany.sock"),
                               "-o", "json", *words], capture_output=True, text=True, timeout=120)
        return said.returncode, said.stdout

    # ---- Agents ----

    def begin(self, calls):
        self.made += 1
        replies = [{"reply": {"text": "", "calls": [{"name": name, "arguments": arguments}]}}
                   for name, arguments in calls]
        script = self.work / f"script-{self.made}.json"
        script.write_text(json.dumps({"replies": replies + [{"reply": {"text": "Done."}}]}))
        status, out = self.tiffany("agent", "Go on.", "--repo", str(self.work / "repository"),
                                   "--script", str(script), "--detach",
                                   "--id", f"agent-{self.made}")
        if status != 0:
            fail(f"an agent could not be started: {status} {out}")
        return json.loads(out)["id"]

    def ended(self, task):
        status, out = self.tiffany("show", task)
        if status != 0:
            return False
        info = json.loads(out)
        if info["status"] in ("running",):
            return False
        if info["status"] != "completed":
            fail(f"agent {task} is {info['status']}: {out}")
        return True

    def wait_for(self, task, seconds=120):
        end = time.monotonic() + seconds
        while not self.ended(task):
            if time.monotonic() > end:
                fail(f"agent {task} does not end: {self.tiffany('show', task)[1]}")
            time.sleep(0.05)

    def results(self, task):
        """Of each call: the step, what came of it, and how often it began."""
        found, begun = [], {}
        for record in json.loads(self.tiffany("logs", task)[1]):
            if record["type"] == "StepStart" and record["step"].startswith("tool "):
                begun[record["step"]] = begun.get(record["step"], 0) + 1
            if record["type"] == "ToolResult":
                found.append((record["step"], record, begun.get(record["step"], 0)))
        return found

    def expect(self, calls_and_parts):
        task = self.begin([each[:2] for each in calls_and_parts])
        self.wait_for(task)
        results = self.results(task)
        for (name, _, part), (_, record, _) in zip(calls_and_parts, results, strict=True):
            text = json.dumps(record.get("result", record), ensure_ascii=False)
            if part not in text:
                fail(f"{name} did not answer with {part!r}: {text}")
        print(f"{len(results)} calls, each as expected")

    # ---- The parts ----

    def undisturbed(self):
        note = str(self.files / "note.txt")
        calls = []
        for server in ("every", "web"):
            calls += [
                (f"{server}__echo", {"message": "hällo"}, "Echo: hällo"),
                (f"{server}__get-sum", {"a": 2, "b": 40}, "42"),
                # Longer than it may say nothing: progress keeps it alive.
                (f"{server}__trigger-long-running-operation", {"duration": 4, "steps": 8},
                 "completed"),
                (f"{server}__get-tiny-image", {}, "a picture, image/png"),
                (f"{server}__get-structured-content", {"location": "Chicago"}, "temperature"),
                (f"{server}__echo", {"massage": 1}, "'message' is missing"),
                # Without progress: given up, and nobody knows.
                (f"{server}__trigger-long-running-operation", {"duration": 30, "steps": 1},
                 "may happen once at most")]
        calls += [
            ("files__write_file", {"path": note, "content": "kept"}, "wrote"),
            ("files__read_text_file", {"path": note}, "kept"),
            ("files__list_directory", {"path": str(self.files)}, "note.txt"),
            ("files__read_text_file", {"path": "/etc/hostname"}, "ccess denied"),
            ("gone__anything", {}, "could not be asked for its tools")]
        self.expect(calls)

    def asks(self):
        task = self.begin([("files__create_directory", {"path": str(self.files / "made")})])
        for _ in range(400):
            if self.tiffany("approve", task)[0] == 0:
                break
            time.sleep(0.05)
        else:
            fail("an MCP tool that asks did not ask")
        self.wait_for(task)
        if not (self.files / "made").is_dir():
            fail("an approved call was not made")
        print("a tool without traits asked, and was run when it was approved")

    def kill_something(self, number):
        if number % 5 == 4:
            before = children_of(self.daemon.pid)
            self.daemon.send_signal(signal.SIGKILL)
            self.daemon.wait()
            self.gone(before, "a server outlived a killed daemon")
            self.serve()
            return
        if number % 5 == 3:
            self.service.send_signal(signal.SIGKILL)
            self.service.wait()
            self.serve_http()
            return
        below = children_of(self.daemon.pid)
        if below:
            try:
                os.kill(self.random.choice(below), signal.SIGKILL)
            except ProcessLookupError:
                pass

    def gone(self, pids, sentence):
        end = time.monotonic() + 5
        while any(Path(f"/proc/{each}").exists() and "mcp-server" in
                  Path(f"/proc/{each}/cmdline").read_bytes().decode(errors="replace")
                  for each in pids if Path(f"/proc/{each}/cmdline").exists()):
            if time.monotonic() > end:
                fail(sentence)
            time.sleep(0.05)

    def disturbed(self):
        killed, running = 0, {}
        while killed < self.kills:
            while len(running) < 3:
                name = self.made
                source, target = self.files / f"from-{name}", self.files / f"to-{name}"
                source.write_text("x")
                calls = []
                for server in ("every", "web"):
                    calls += [(f"{server}__echo", {"message": f"n{name}"}),
                              (f"{server}__trigger-long-running-operation",
                               {"duration": 1, "steps": 4})]
                calls += [("files__move_file", {"source": str(source),
                                                "destination": str(target)}),
                          ("files__read_text_file", {"path": str(self.files / "note.txt")})]
                running[self.begin(calls)] = (source, target)
            time.sleep(self.random.random() * 0.6)
            self.kill_something(killed)
            killed += 1
            for task in [each for each in running if self.ended(each)]:
                self.check(task, *running.pop(task))
        for task, paths in running.items():
            self.wait_for(task)
            self.check(task, *paths)
        print(f"{killed} kills, {self.made} agents, {self.answered} calls answered, "
              f"{self.unknown} unknown")

    def check(self, task, source, target):
        results = self.results(task)
        if len(results) != 6:
            fail(f"agent {task} has {len(results)} results instead of 6")
        for step, record, begun in results:
            result = record.get("result")
            output = json.dumps(result, ensure_ascii=False) if result else json.dumps(record)
            often = "__echo" in step or "__read_" in step
            if record.get("unknown"):
                if often:
                    fail(f"{step} of {task} may be repeated and is unknown: {output}")
                self.unknown += 1
            elif result and not result["error"]:
                self.answered += 1
            elif "was not made" not in output:
                fail(f"{step} of {task}: {output}")
            if not often and begun > 1:
                fail(f"{step} of {task} began {begun} times")
        if source.exists() == target.exists():
            fail(f"{source} was moved twice, or half")

    def run(self):
        repository = self.work / "repository"
        repository.mkdir()
        git = ["git", "-C", str(repository), "-c", "user.name=A", "-c", "user.email=a@b"]
        for words in (["init", "-q", "-b", "main"],
                      ["commit", "-q", "--allow-empty", "-m", "first"]):
            subprocess.run([*git, *words], check=True)
        self.write_agents()
        try:
            self.serve_http()
            self.serve()
            self.undisturbed()
            self.asks()
            self.disturbed()
            below = children_of(self.daemon.pid)
            self.daemon.send_signal(signal.SIGTERM)
            if self.daemon.wait(timeout=60) != 0:
                fail("the daemon did not end well")
            self.gone(below, "a server is left when the daemon has ended")
            print("no server is left")
        finally:
            for each in (self.daemon, self.service):
                if each is not None and each.poll() is None:
                    each.kill()
                    each.wait()
        shutil.rmtree(self.work)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    kills = int(sys.argv[3]) if len(sys.argv) > 3 else 50
    seed = int(sys.argv[4]) if len(sys.argv) > 4 else 1
    Campaign(sys.argv[1], sys.argv[2], kills, seed).run()
