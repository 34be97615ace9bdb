#!/usr/bin/env python3
"""Agents under kill -9: a real daemon, git, the sandbox and a scripted model.

usage: tools/soak_agent.py DIRECTORY [kills] [agents] [seed]

DIRECTORY has the programs tiffany and tiffany-run. Agents fix the repository of examples/agent, as
many as `agents` at a time, each with a repository of its own, while the daemon is killed `kills`
times at random moments, and one of ten times the supervisors of tools with it. Then, of each agent:
it was approved once, its branch has one commit more than main, git fsck has nothing to say. At the
end no process of a tool is left after a second, and `wal verify` is content.
"""
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

EXAMPLE = Path(__file__).resolve().parent.parent / "examples" / "agent"


def fail(sentence):
    sys.exit(f"soak_agent: {sentence}")


class Campaign:
    def __init__(self, programs, kills, agents, seed):
        self.program = str(Path(programs) / "tiffany")
        self.kills, self.agents = kills, agents
        self.random = random.Random(seed)
        self.work = Path(tempfile.mkdtemp(prefix="tiffany-agents-"))
        self.daemon = None
        self.open = {}  # task: repository
        self.done = self.approved = self.made = 0

    def tiffany(self, *words):
        said = subprocess.run([self.program, "--socket", str(self.work / "data/tiffany.sock"),
                               "-o", "json", *words], capture_output=True, text=True, timeout=60)
        return said.returncode, said.stdout

    def serve(self):
        log = open(self.work / "serve.log", "ab")
        self.daemon = subprocess.Popen(
            [self.program, "serve", "--data", str(self.work / "data"),
             "--agents", str(EXAMPLE / "agents.json")], stdout=log, stderr=log)
        for _ in range(600):
            if self.tiffany("ps")[0] == 0:
                return
            if self.daemon.poll() is not None:
                fail(f"the daemon ended: {(self.work / 'serve.log').read_text()[-2000:]}")
            time.sleep(0.01)
        fail("the daemon does not answer")

    def kill(self):
        self.daemon.send_signal(signal.SIGKILL)
        self.daemon.wait()
        if self.random.random() < 0.1:
            for pid in self.supervisors():
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass

    # Processes whose command line names our directory.
    def supervisors(self):
        found = []
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit() or int(entry.name) == os.getpid():
                continue
            try:
                line = (entry / "cmdline").read_bytes()
                place = os.readlink(entry / "cwd")
            except OSError:
                continue
            if str(self.work).encode() in line or place.startswith(str(self.work)):
                found.append(int(entry.name))
        return found

    def begin(self):
        self.made += 1
        repository = self.work / f"repository-{self.made}"
        shutil.copytree(EXAMPLE / "repository", repository)
        git = ["git", "-C", str(repository), "-c", "user.name=A", "-c", "user.email=a@b"]
        for words in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "first"]):
            subprocess.run([*git, *words], check=True)
        key = f"agent-{self.made}"
        status, out = self.tiffany("agent", "Make the tests pass.", "--repo", str(repository),
                                   "--script", str(EXAMPLE / "fix.json"), "--detach", "--id", key)
        if status == 0:
            self.open[json.loads(out)["id"]] = repository
        else:
            fail(f"an agent could not be started: {status} {out}")

    def look(self):
        for task, repository in list(self.open.items()):
            status, out = self.tiffany("show", task)
            if status != 0:
                continue
            info = json.loads(out)
            if info["status"] == "completed":
                self.check(task, repository, info["result"])
            elif info["status"] != "running":
                fail(f"agent {task} is {info['status']}: {out}")
            elif any(each["kind"] == "promise" for each in info.get("waits", [])):
                status, _ = self.tiffany("approve", task)
                self.approved += status == 0

    def check(self, task, repository, result):
        git = ["git", "-C", str(repository)]
        ref = f"main..tiffany/{task}"
        count = subprocess.run([*git, "rev-list", "--count", ref], capture_output=True, text=True)
        if count.stdout.strip() != "1":
            fail(f"agent {task} has {count.stdout.strip()} commits instead of one: {result}")
        fsck = subprocess.run([*git, "fsck", "--no-dangling"], capture_output=True, text=True)
        if fsck.returncode != 0 or fsck.stdout.strip():
            fail(f"git fsck of agent {task}: {fsck.stdout} {fsck.stderr}")
        shutil.rmtree(repository)
        del self.open[task]
        self.done += 1

    def run(self):
        self.serve()
        for _ in range(self.kills):
            while len(self.open) < self.agents:
                self.begin()
            time.sleep(self.random.random() * 0.3)
            self.look()
            self.kill()
            self.serve()
        for _ in range(600):
            self.look()
            if not self.open:
                break
            time.sleep(0.05)
        if self.open:
            fail(f"{len(self.open)} agents do not come to an end: {list(self.open)}")
        self.daemon.send_signal(signal.SIGTERM)
        if self.daemon.wait(30) != 0:
            fail("the daemon did not end well")
        time.sleep(1)
        left = [pid for pid in self.supervisors() if b"listen" not in self.words_of(pid)]
        if left:
            fail(f"processes are left: {[self.words_of(pid) for pid in left]}")
        verified = subprocess.run([self.program, "wal", "verify", str(self.work / "data/wal")],
                                  capture_output=True, text=True)
        if verified.returncode != 0:
            fail(f"the log is not whole: {verified.stdout} {verified.stderr}")
        print(f"{self.kills} kills, {self.done} agents came to an end, each with one commit; "
              f"{self.approved} answers; nothing is left, and the log is whole.")

    @staticmethod
    def words_of(pid):
        try:
            return Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            return b""

    def end(self):
        if self.daemon is not None and self.daemon.poll() is None:
            self.daemon.kill()
            self.daemon.wait()
        for pid in self.supervisors():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        shutil.rmtree(self.work, ignore_errors=True)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    numbers = [int(word) for word in sys.argv[2:5]]
    kills, agents, seed = (numbers + [500, 4, 1][len(numbers):])
    campaign = Campaign(sys.argv[1], kills, agents, seed)
    try:
        campaign.run()
    finally:
        campaign.end()


if __name__ == "__main__":
    main()
