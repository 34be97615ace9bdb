"""The table of cases. A new command needs a line here: a command without one fails the walk.

Case(verb, words): `words` follow the verb; {name} is an attribute of World, {new:name} is what the
function of that name of World makes, anew for each run of the command. The cases run in their
order: first those that only look, then those that change something.
"""
from dataclasses import dataclass


@dataclass
class Case:
    verb: str
    words: str = ""
    status: int = 0
    on_terminal: int = -1  # the exit status there, when it is another one
    formats: str = ""      # of -o, besides the text: json jsonl wide name
    typed: tuple = ()      # pairs on a terminal: what is shown, keys that are then pressed
    changes: bool = False  # nothing is repeated to compare colours
    wraps: bool = False    # has lines as long as its data are
    golden: bool = True    # False: figures of the machine; the status and the form are checked
    daemon: bool = True    # False: speaks to none
    program: str = "tiffany"
    screen: bool = False   # full screen: no escape sequences are looked at


ALL = "json jsonl wide name"


def look(verb, words="", **more):
    return Case(verb, words, **more)


def change(verb, words="", **more):
    return Case(verb, words, changes=True, **more)


def alone(verb, words="", **more):
    return Case(verb, words, daemon=False, **more)


CASES = [
    # ---- Tasks ----
    look("ps", formats=ALL),
    look("ps", "-a", formats=ALL),
    look("ps", "--status failed --no-headers"),
    look("ps", "--status sleeping", status=2),
    look("ps", "--type nothing"),
    look("ps", "-a --limit 2"),
    look("ps", "--limit few", status=2),
    look("show", "{waiting_order}", formats="json name"),
    look("show", "{greeting}"),
    look("show", "{listening}"),
    look("show", "{asking_plan}", wraps=True),
    look("show", "{asking_agent}", wraps=True),
    look("show", "{done_agent}", wraps=True),
    look("show", "ffff", status=4),
    look("tree", formats="json jsonl"),
    look("tree", "{parent} --ascii"),
    look("watch", "{greeting}", formats="jsonl"),
    look("watch", "{failed}", status=1),
    look("watch", "{mistake}", status=9),
    look("watch", "{cancelled}", status=8),
    look("watch", "{waiting_order} --timeout 50ms", status=5),
    look("watch", "{done_agent}", wraps=True),
    look("logs", "{waiting_order}", formats="json jsonl"),
    look("logs", "{small}", wraps=True),
    look("logs", "{greeting} -n 1"),
    look("logs", "{greeting} --type StepEnd"),
    look("logs", "{greeting} --since some", status=2),
    look("logs", "{greeting} --follow"),
    look("result", "{greeting}", formats="json"),
    look("result", "{failed}", status=1, formats="json"),
    look("result", "{mistake}", status=9),
    look("result", "{cancelled}", status=8),
    look("result", "{listening}", status=5),
    look("result", "{small}", wraps=True),
    look("result", "--wait {waiting_order} --timeout 100ms", status=6, on_terminal=5),
    look("types", formats=ALL),
    look("top", "-b -n 1"),
    look("top", "", screen=True, typed=(("a approve", ["q"]),)),
    # ---- Steering, as far as it looks ----
    look("promises", formats=ALL),
    look("query", "{waiting_order} stage", formats="json"),
    look("query", "{waiting_order} colour", status=4),
    look("inspect", "{waiting_order}", formats="json"),
    look("inspect", "{listening}"),
    look("replay", "{greeting}", formats="json"),
    look("replay", "{failed}"),
    # ---- Plans ----
    alone("plan check", "{work}/plans/release.yaml {work}/plans/small.yaml", formats="json"),
    alone("plan check", "{work}/plans/wrong.yaml", status=1, formats="json", wraps=True),
    alone("plan check", "{work}/plans/missing.yaml", status=1),
    alone("plan graph", "{work}/plans/release.yaml", formats="json"),
    alone("plan graph", "{work}/plans/release.yaml --as dot"),
    alone("plan graph", "{work}/plans/wrong.yaml", status=1, wraps=True),
    look("plan status", "{asking_plan}", formats=ALL),
    look("plan status", "{broken}"),
    look("plan status", "{greeting}", status=4),
    look("plan ls", formats=ALL),
    look("output", "{asking_plan} build"),
    look("output", "{asking_plan} build --errors"),
    look("output", "{asking_plan} nothing", status=4),
    look("artifacts", "{asking_plan}", formats=ALL),
    look("artifacts", "{asking_plan} version.txt", on_terminal=2),
    look("artifacts", "{small}"),
    # ---- Agents ----
    look("diff", "{asking_agent}", formats="json"),
    look("diff", "{done_agent}", status=1),
    look("diff", "{greeting}", status=4),
    look("budget", "{asking_agent}", formats="json", wraps=True),
    look("budget", "{done_agent}"),
    look("what-if", "{done_agent} --script {work}/fix.json", formats="json"),
    look("what-if", "{done_agent} --script {work}/other.json", status=10, formats="json"),
    look("what-if", "{done_agent}", status=2),
    look("rules ls", formats=ALL),
    look("skills", formats=ALL),
    look("servers ls", formats=ALL),
    look("servers show", "nobody", status=4),
    look("servers accept", "nobody", status=4),
    look("memory ls", formats=ALL, wraps=True),  # ids of 32 digits, which are not cut
    look("memory recall", "sum", formats=ALL, wraps=True),
    look("memory recall", "elephant"),
    look("memory recall", "sum --depth deep", status=2),
    look("memory show", "{first_note}", formats="json"),
    look("memory show", "999999", status=4),
    look("mcp", "", typed=(("", ["C-d"]),)),
    # ---- Schedules ----
    look("schedule ls", formats=ALL),
    look("schedule show", "nightly", formats="json"),
    look("schedule show", "yearly", status=4),
    # ---- The daemon ----
    alone("config", "--data {work}/nothing", formats="json", wraps=True),
    look("metrics", "--grep build_info"),
    look("metrics", "", golden=False, wraps=True),
    look("problems", formats="json jsonl"),
    look("dump", "", golden=False, wraps=True, formats="json"),
    look("audit", "-n 8", formats=ALL),
    look("tokens ls", formats=ALL),
    look("doctor", "", formats="json", wraps=True),
    look("version", "", formats="json"),
    alone("version", "--client", formats="json"),
    # ---- This program ----
    alone("help"),
    alone("help", "approve"),
    alone("help", "schedule create"),
    alone("help", "plan"),
    alone("help", "dance", status=2),
    alone("completion", "bash", wraps=True),
    alone("completion", "zsh", wraps=True),
    alone("completion", "fish"),
    alone("completion", "tcsh", status=2),
    alone("man", "", golden=False, wraps=True),
    alone("", "", status=2, golden=False, wraps=True),
    alone("dance", "", status=2),
    alone("ps", "--dance", status=2),
    alone("show", "", status=2),
    alone("ps", "-o xml", status=2),

    # ---- From here on something changes. ----
    change("approve", "", status=6, on_terminal=1, typed=(("Which one", ["0", "Enter"]),)),
    change("start", "greet ann 2", formats="json name"),
    change("start", "greet who=ann times=1 --wait", formats="json"),
    change("start", "greet ann 2 --watch"),
    change("start", "fails why --wait", status=1),
    change("start", "greet ann", status=2),
    change("start", "dance", status=4),
    change("start", "greet mallory 1", status=1),
    change("start", """order '{{"id":"b","amount":5000}}' --wait --timeout 100ms""", status=6,
           on_terminal=5),
    change("approve", "{new:order} -m 'looks fine'", formats="json name"),
    change("approve", "{new:release}", formats="json"),
    change("approve", "{new:agent}", formats="json", typed=(("[y/N]", ["y", "Enter"]),)),
    change("approve", "{greeting}", status=4),
    change("approve", "{two}", status=6, on_terminal=1, typed=(("Which one", ["9", "Enter"]),)),
    change("approve", "{asking_plan} --digest 00", status=1),
    change("reject", "{new:order}", formats="json name"),
    change("reject", "{new:order} --error 'too dear'", formats="json"),
    change("reject", "{new:release} -m 'not today'", formats="json"),
    change("reject", "{new:agent} -m 'not like this'", formats="json"),
    change("complete", "{new:promise} true", formats="json name"),
    change("complete", "{new:promise} yes", status=2),
    change("complete", "{waiting_order} true", status=4),
    change("signal", "{new:listener} word '\"hello\"'", formats="json name"),
    change("signal", "{new:listener} word hello", status=2),
    change("signal", "{greeting} word 1", status=1),
    change("update", "{new:counter} add 3", formats="json"),
    change("update", "{new:counter} add -- -3", status=2),
    change("update", "{new:counter} multiply 3", status=4),
    change("cancel", "{new:nap} -m 'not needed'", formats="json name"),
    change("cancel", "{new:nap} ffff {new:nap}", status=4),
    change("kill", "{new:nap} -y", formats="json"),
    change("kill", "{new:nap}", wraps=True, status=6, on_terminal=1,
           typed=(("[y/N]", ["n", "Enter"]),)),
    change("pause", "{new:nap}", formats="json"),
    change("resume", "{new:paused}", formats="json"),
    change("resume", "{greeting}", status=1),
    change("retry", "{new:failure} break#1", formats="json"),
    change("retry", "{new:failure} bend#1", status=4),
    change("fork", "{failed} break#1", formats="json name"),
    change("fork", "{waiting_order} nothing#1", status=4),
    change("run", "{work}/plans/small.yaml", formats="json"),
    change("run", "{work}/plans/small.yaml --detach", formats="json name"),
    change("run", "small --detach"),
    change("run", "{work}/plans/broken.yaml", status=1),
    change("run", "{work}/plans/wrong.yaml", status=2, wraps=True),
    change("run", "{work}/plans/release.yaml --timeout 500ms -p target=production", status=6,
           on_terminal=5),
    change("run", "{work}/plans/small.yaml --local --data {new:place}"),
    change("run", "nothing", status=4),
    change("run", "{work}/nothing.yaml", status=1),
    change("agent", "'Make the tests pass.' --repo {new:repository} --script {work}/fix.json"
           " --timeout 2s", status=6, on_terminal=5, wraps=True),
    change("agent", "'Make the tests pass.' --repo {new:repository} --script {work}/fix.json"
           " --detach", formats="json name"),
    change("agent", "'Make the tests pass.' --repo {work} --script {work}/fix.json", status=1,
           wraps=True),
    change("agent", "'Make the tests pass.' --script {work}/nothing.json", status=2),
    change("budget", "{new:agent} --turns 5", formats="json"),
    change("budget", "{asking_agent} --turns many", status=2),
    change("rules rm", "{new:rule}", formats="json"),
    change("rules rm", "nothing", status=4),
    change("memory forget", "{new:note}", formats="json"),
    change("memory forget", "999999", status=4),
    change("memory embed", "", status=4),
    change("schedule create", "{new:name} naps --cron '0 9 * * 1-5'", formats="json"),
    change("schedule create", "{new:name} naps", status=2),
    change("schedule create", "{new:name} naps --cron 'every day'", status=2),
    change("schedule pause", "{new:schedule}", formats="json"),
    change("schedule resume", "{new:schedule}", formats="json"),
    change("schedule run", "{new:schedule}", formats="json"),
    change("schedule rm", "{new:schedule}", formats="json"),
    change("schedule rm", "yearly", status=4),
    change("tokens create", "{new:name}", formats="json", golden=False),
    change("tokens create", "{new:name} --role king", status=2),
    change("tokens rm", "{new:token}", formats="json"),
    change("tokens rm", "nobody", status=4),
    change("levels", "info,serve=debug", formats="json"),
    change("levels", "loud", status=2),
    change("compact", "", formats="json"),
    change("backup", "{new:place}", formats="json", golden=False),
    change("backup", "relative", status=2),
    # ---- Logs without a daemon ----
    alone("wal verify", "{closed}/wal"),
    alone("wal verify", "{new:damaged_log}/wal", status=12, changes=True, wraps=True),
    alone("wal verify", "{work}/nothing", status=1),
    alone("wal repair", "{new:damaged_log}/wal --dry-run", changes=True, wraps=True,
          status=12),
    alone("wal repair", "{new:damaged_log}/wal", changes=True, wraps=True),
    alone("wal export", "{new:closed_log}/wal --to {new:place}", changes=True, wraps=True),
    alone("wal tail", "{closed}/wal 3", wraps=True),
    alone("wal compact", "{new:closed_log}/wal", changes=True),
    alone("wal accept-loss", "{new:damaged_log}/wal 'we know'", changes=True, wraps=True),
    alone("restore", "{backup} {new:place}", changes=True, wraps=True),
    alone("restore", "{backup} {work}", changes=True, status=1, wraps=True),
    alone("task list", "{closed}/wal", wraps=True),
    alone("task show", "{closed}/wal {greeting}", wraps=True),
    alone("task show", "{closed}/wal ffff", status=2),
    alone("task inspect", "{closed}/wal {waiting_order}", program="depot"),
    alone("task inspect", "{closed}/wal {waiting_order}", status=1),
    alone("task replay", "{closed}/wal {greeting}", program="depot"),
    alone("task pause", "{new:closed_log}/wal {listening}", changes=True),
    alone("task resume", "{new:closed_log}/wal {sleeping_paused}", changes=True),
    alone("task cancel", "{new:closed_log}/wal {listening} enough", changes=True),
    alone("task kill", "{new:closed_log}/wal {listening} enough", changes=True),
    alone("task retry", "{new:closed_log}/wal {failed} break#1", changes=True),
    alone("task fork", "{new:closed_log}/wal {failed} break#1", changes=True),
    alone("task signal", "{new:closed_log}/wal {listening} word '\"hello\"'", changes=True),
    alone("task complete", "{new:closed_log}/wal {order_promise} true", changes=True),
    alone("check", "{closed}/wal", program="depot", formats="json", wraps=True),
    alone("check", "{closed}/nowhere", status=1),
    alone("upgrade", "--check {closed}/wal", program="depot", wraps=True),
    alone("upgrade", "--check {closed}/wal", wraps=True),
]

# Walked where they belong: with daemons of their own (states.py).
ELSEWHERE = {"serve", "shutdown"}
