"""A daemon with something of everything: tasks, plans, schedules, agents, tokens."""
import json
import shutil
import subprocess
from pathlib import Path

from .running import Daemon, Trouble, environment, eventually, off_terminal

EXAMPLES = Path(__file__).resolve().parent.parent.parent / "examples"

PLANS = {
    "release.yaml": """\
name: release
about: builds, asks, publishes
params:
  target: staging
steps:
  - name: build
    directory: %(work)s
    shell: true
    run: echo building for a while; echo a warning >&2; echo 1.4.2 > version.txt
    artifacts: [version.txt]
  - name: ask
    needs: [build]
    approve: "Release 1.4.2 to ${{ params.target }}?"
  - name: publish
    needs: [ask]
    run: [echo, published]
""",
    "broken.yaml": """\
name: broken
steps:
  - name: compile
    shell: true
    run: echo no such header >&2; exit 3
  - name: ship
    needs: [compile]
    run: [echo, shipped]
finally:
  - name: clean
    run: [echo, cleaned]
""",
    "small.yaml": """\
steps:
  - name: test
    run: [echo, tests pass]
  - name: install
    needs: [test]
    run: [echo, installed]
""",
    "slow.yaml": """\
steps:
  - name: wait
    run: [sleep, "%(seconds)s"]
  - name: then
    needs: [wait]
    run: [echo, "on we go"]
""",
    "wrong.yaml": """\
steps:
  - name: test
    need: [build]
    run: [make, test]
  - name: ship
    needs: [biuld]
    run: [make, ship]
""",
}


class World:
    """Ids of what there is are attributes; functions make something new of a kind."""

    def __init__(self, programs, work):
        self.tiffany = str(Path(programs) / "tiffany")
        self.depot = str(Path(programs) / "tests" / "depot")
        self.work = Path(work)
        self.made = 0
        self.daemons = []
        (self.work / "plans").mkdir()
        (self.work / "files").mkdir()
        for name, text in PLANS.items():
            fields = {"work": self.work / "files", "seconds": "0.2"}
            self.file(f"plans/{name}", text % fields if "%(" in text else text)
        self.file("fix.json", self.script_that_fixes())
        self.file("other.json", json.dumps([{"reply": {"text": "I give up."}}]))
        self.file("token", "wrong\n")
        self.agents = self.settings_of_agents()
        self.daemon = self.serve(self.depot, "data", "--plans", str(self.work / "plans"),
                                 "--agents", self.agents)
        self.socket = self.daemon.socket

    def serve(self, program, name, *more, **variables):
        daemon = Daemon(program, self.work / name, *more, **variables)
        self.daemons.append(daemon)
        return daemon.start()

    @staticmethod
    def script_that_fixes():
        """One call at a time: of several, which run beside one another, any may be the first."""
        script = json.loads((EXAMPLES / "agent/fix.json").read_text())
        for each in script["replies"]:
            each["reply"]["calls"] = each["reply"].get("calls", [])[-1:]
        return json.dumps(script)

    def settings_of_agents(self):
        """A tool that is free, one that asks, a skill and a memory."""
        (self.work / "skill").mkdir()
        self.file("skill/SKILL.md", "---\nname: release\ndescription: How a release is made.\n---\n"
                  "Read the list first.\n")
        self.file("stamp.json", json.dumps({
            "name": "stamp", "about": "Prints a word.", "argv": ["echo", "--", "{word}"],
            "input": {"type": "object", "properties": {"word": {"type": "string"}},
                      "required": ["word"], "additionalProperties": False},
            "effect": "idempotent", "ask": True, "sandbox": 2}))
        return self.file("agents.json", json.dumps({
            "tools": [str(EXAMPLES / "agent/tools/test.json"), "stamp.json"],
            "skills": ["skill"], "memory": "memory.db",
            "budget": {"turns": 20, "tool_runs": 50}}))

    @staticmethod
    def slow_plan(seconds):
        return PLANS["slow.yaml"] % {"seconds": seconds}

    def file(self, name, text):
        (self.work / name).write_text(text)
        return str(self.work / name)

    def run(self, *words, socket=None):
        return off_terminal([self.tiffany, "--socket", socket or self.socket, *words])

    def must(self, *words, socket=None):
        said = self.run(*words, socket=socket)
        if said.status != 0:
            raise Trouble(f"{words}: {said}")
        return said.out.strip()

    def start(self, *words):
        """With an id that is the same in every run, unless the words have one."""
        self.made += 1
        return self.must("start", "--id", f"made-{self.made}", *words)

    def waits(self, task, text, where="show"):
        eventually(lambda: text in self.run(where, task).out, f"{task} to wait for {text}")
        return task

    def ends(self, task):
        self.run("result", "--wait", "--through-approvals", task)
        return task

    # ---- Something new of a kind. -----------------------------------------------------------

    def order(self, amount=5000):
        order = json.dumps({"id": f"a{self.made}", "amount": amount})
        return self.waits(self.start("order", order), "approval#1")

    def nap(self):
        return self.waits(self.start("naps"), "timer")

    def listener(self):
        return self.waits(self.start("listens"), "word#1", "logs")

    def counter(self):
        return self.waits(self.start("counter"), "word#1", "logs")

    def paused(self):
        task = self.nap()
        self.must("pause", task)
        return task

    def failure(self):
        return self.ends(self.start("fails", "the disk is full"))

    def completed(self):
        return self.ends(self.start("greet", "ann", "2"))

    def release(self, *words):
        self.made += 1
        task = self.must("run", "--detach", "--id", f"made-{self.made}",
                         str(self.work / "plans/release.yaml"), *words)
        return self.waits(task, "promise")

    def plan(self, name):
        self.made += 1
        return self.ends(self.must("run", "--detach", "--id", f"made-{self.made}",
                                   str(self.work / f"plans/{name}.yaml")))

    def repository(self):
        self.made += 1
        place = self.work / f"repository-{self.made}"
        shutil.copytree(EXAMPLES / "agent/repository", place)
        git = ["git", "-C", str(place), "-c", "user.name=A", "-c", "user.email=a@b"]
        for words in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "first"]):
            subprocess.run([*git, *words], check=True, env=environment())
        return str(place)

    def agent(self):
        """One that waits for somebody to approve its patch."""
        place = self.repository()
        task = self.must("agent", "Make the tests pass.", "--repo", place, "--script",
                         str(self.work / "fix.json"), "--detach", "--id", f"made-{self.made}")
        return self.waits(task, "promise")

    def agent_that_calls(self, tool, arguments):
        place = self.repository()
        script = self.file(f"script-{self.made}.json", json.dumps([
            {"reply": {"text": "I begin.", "calls": [{"name": tool, "arguments": arguments}]}},
            {"reply": {"text": "That is all."}}]))
        return self.must("agent", "Do it.", "--repo", place, "--script", script, "--detach",
                         "--id", f"made-{self.made}")

    def note(self):
        """The id of a new note in the memory of agents."""
        text = f"The sum is made in total.sh, says somebody for the {self.made}th time."
        self.ends(self.agent_that_calls("remember", {"text": text, "kind": "fact"}))
        return self.must("-o", "name", "memory", "ls", "--limit", "1")

    def rule(self):
        """The id of a new standing rule."""
        before = self.must("-o", "name", "rules", "ls").split()
        task = self.agent_that_calls("stamp", {"word": f"word{self.made}"})
        self.waits(task, "promise")
        self.must("-y", "approve", "--scope", "rule", task)
        self.ends(task)
        return [each for each in self.must("-o", "name", "rules", "ls").split()
                if each not in before][0]

    def schedule(self):
        self.made += 1
        name = f"hourly-{self.made}"
        self.must("schedule", "create", name, "naps", "--every", "1h")
        return name

    def token(self):
        self.made += 1
        self.must("-q", "tokens", "create", f"token-{self.made}")
        return f"token-{self.made}"

    def name(self):
        self.made += 1
        return f"name-{self.made}"

    def promise(self):
        return self.promise_of(self.order())

    def place(self):
        """A path of nothing."""
        self.made += 1
        return str(self.work / f"place-{self.made}")

    def closed_log(self):
        """A copy of the log that no daemon has open, with its tasks."""
        place = self.place()
        shutil.copytree(self.closed, place)
        return place

    def damaged_log(self, text=b"greet", instead=b"great"):
        place = self.closed_log()
        for path in sorted(Path(place).rglob("*")):
            if path.is_file() and text in path.read_bytes():
                path.write_bytes(path.read_bytes().replace(text, instead, 1))
                return place
        raise Trouble(f"nothing to damage in {place}")

    # ---- Everything that there is before the first command. -------------------------------------

    def populate(self):
        self.waiting_order = self.order()
        self.greeting = self.completed()
        self.failed = self.failure()
        self.mistake = self.ends(self.start("errs"))
        self.listening = self.listener()
        self.counting = self.counter()
        self.sleeping_paused = self.paused()
        self.parent = self.waits(self.start("parent"), "child")
        self.two = self.waits(self.start("two"), "seller#1")
        self.cancelled = self.nap()
        self.must("cancel", "-m", "not needed", self.cancelled)
        self.ends(self.cancelled)
        self.small = self.plan("small")
        self.broken = self.plan("broken")
        self.asking_plan = self.release()
        self.asking_agent = self.agent()
        done = self.agent()
        self.must("-y", "approve", "-m", "looks right", done)
        self.done_agent = self.ends(done)
        self.first_note = self.note()
        self.first_rule = self.rule()
        # On a day that hardly comes: it must not start a task while the walk is under way.
        self.must("schedule", "create", "nightly", "naps", "--cron", "30 2 29 2 *", "--zone",
                  "Europe/Berlin")
        self.must("schedule", "create", "sometimes", "greet", "ann", "1", "--every", "10m")
        self.must("schedule", "pause", "sometimes")
        self.must("-q", "tokens", "create", "ops", "--role", "operator")
        self.order_promise = self.promise_of(self.waiting_order)
        self.closed = self.work / "closed"
        self.must("backup", str(self.closed))
        self.backup = str(self.work / "backup")
        self.must("backup", self.backup)

    def promise_of(self, task):
        for line in self.must("-o", "jsonl", "promises").split("\n"):
            promise = json.loads(line)
            if promise["task"] == task:
                return promise["id"]
        raise Trouble(f"{task} waits for no promise")

    def close(self):
        for daemon in self.daemons:
            daemon.stop()
