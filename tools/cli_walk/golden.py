"""Golden files: what a command said, without what differs from run to run."""
import difflib
import json
import re
from pathlib import Path

UUID = re.compile(r"\b([0-9a-f]{8})-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")
# The beginning of an id: eight digits, which are no word.
SHORT = re.compile(r"\b(?=[0-9a-f]*[0-9])[0-9a-f]{8}\b(?!-)")
AGE = r"(?:\d+s|\d+m\d\ds|\d+h\d\dm|\d+d\d\dh)"
COLOURS = re.compile(r"\x1b\[(?:0|2|31|32|33)m")
# What a table has cut: of an id, a time, a path.
CUT = re.compile(r"\b(?:(?=[0-9a-f]*[0-9])[0-9a-f]{4,7}|[0-9a-f]{8}-[0-9a-f-]*|20\d\d-[0-9: -]*)…")
CUT_PATH = re.compile(r"(/tmp/tiffany-cli-)(\w*)…")
REPLACED = [
    (CUT_PATH, lambda found: found.group(1) + "x" * len(found.group(2)) + "…"),
    (CUT, lambda found: re.sub(r"[0-9a-f]", "0", found.group(0))),
    (re.compile(r"\d{4}-\d\d-\d\dT[0-9:]{8}(\.\d+)?Z"), "2000-01-01T00:00:00.000000Z"),
    (re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"), "2000-01-01 00:00:00"),
    (re.compile(r"\b\d\d:\d\d:\d\d\b"), "00:00:00"),
    (re.compile(r"\b[0-9a-f]{64}\b"), "<sha256 of something, 64 digits long>".ljust(64, ".")),
    (re.compile(r"\b[0-9a-f]{32}\b"), "<id of a note, 32 digits long>".ljust(32, ".")),
    (re.compile(r"\b(?=[0-9a-f]*[0-9])[0-9a-f]{16}\b"), "<id of a rule>.."),
    (re.compile(r"\bfor the \d+th time"), "for the 7th time"),
    (re.compile(r'"word\d+"'), '"word7"'),
    (re.compile(r"\b[0-9a-f]{40}\b"), "<commit of git, 40 digits long>".ljust(40, ".")),
    (re.compile(r"\b(pid|Process) \d+"), r"\1 7"),
    (re.compile(r'"loc":"[^"]*"'), '"loc":"x.cpp:7"'),
    (re.compile(r'"(tid|vt)":\d+'), r'"\1":7'),
    (re.compile(rf"\bup {AGE}"), "up 7s"),
    (re.compile(r"\b\d+ us\b"), "7 us"),
    (re.compile(r"_us\":\d+"), '_us":7'),
    (re.compile(r"Scheduler at [0-9.]+ s"), "Scheduler at 7 s"),
    # Tasks of the process, of which a daemon may have more some day.
    (re.compile(r'task #\d+ "'), 'task #7 "'),
    (re.compile(r"^deadlock  \d{10}\b", re.M), "deadlock  7777777777"),
    (re.compile(r"\d+ slices"), "7 slices"),
    # Where in an answer the daemon died.
    (re.compile(r"Lost the daemon \(.*\); trying"), "Lost the daemon (why); trying"),
    (re.compile(r"and /tmp/walk has \S+\. Choose"), "and /tmp/walk has something. Choose"),
    (re.compile(r"\b\d+ bytes"), "7 bytes"),
    (re.compile(r"\(byte \d+\)"), "(byte 7)"),
    (re.compile(r"(checksum|found one with) [0-9a-f]{8}\b"), r"\1 77777777"),
    (re.compile(r"\(commit [0-9a-f]{12}\)"), "(commit 777777777777)"),
    (re.compile(r"\b(name|hourly|token|place|repository)-\d+"), r"\1-7"),
    (re.compile(r"level \d for commands, Landlock \d+.*"), "level 3 for commands, Landlock 7"),
    (re.compile(r"\buid:\d+"), "uid:0"),
    # Steps of a plan: whether somebody looked while they ran.
    (re.compile(r"^running           \S+\n", re.M), ""),
    (re.compile(r"\b\d+(\.\d+)? (B|KiB|MiB|GiB|TiB)\b"), "7 GiB"),
    # The age in a table, and the room around it: it grows while this runs.
    (re.compile(rf"(?<=\S)  +{AGE}(?=  |\n|$) *"), "  7s  "),
    (re.compile(r"  AGE +"), "  AGE  "),
]


class Plain:
    """Takes out of texts what differs from run to run. Ids are counted as they come in a text."""

    def __init__(self, directory):
        self.directory = str(directory)

    def text(self, text):
        seen = {}

        def number_of(match):
            short = match.group(0)[:8]
            number = seen.setdefault(short, len(seen) + 1)
            return f"{number:x}" * 8 if number < 16 else f"{number:08x}"

        def whole(match):
            name = number_of(match)
            digit = name[-1]
            return f"{name}-{digit * 4}-4{digit * 3}-8{digit * 3}-{digit * 12}"

        text = COLOURS.sub("", text).replace(self.directory, "/tmp/walk")
        for pattern, instead in REPLACED:
            text = pattern.sub(instead, text)
        ids = re.compile(f"{UUID.pattern}|{SHORT.pattern}")
        text = ids.sub(lambda found: whole(found) if "-" in found.group(0) else number_of(found),
                       text)
        return "\n".join(line.rstrip() for line in text.split("\n"))


def shape(value, path="", into=None):
    """The members of a JSON text and the kinds of their values, a line for each."""
    into = {} if into is None else into
    kind = {bool: "truth", int: "number", float: "number", str: "text",
            type(None): "null"}.get(type(value))
    if isinstance(value, dict):
        kind = "object"
        for name, inner in value.items():
            shape(inner, f"{path}.{name}" if path else name, into)
    elif isinstance(value, list):
        kind = "list"
        for inner in value:
            shape(inner, path + "[]", into)
    into.setdefault(path or ".", set()).add(kind)
    return into


def shape_text(values):
    into = {}
    for value in values:
        shape(value, into=into)
    return "".join(f"{path}: {', '.join(sorted(kinds))}\n" for path, kinds in sorted(into.items()))


def jsons(text):
    """Of `-o json` (one text) and `-o jsonl` (one in each line)."""
    try:
        return [json.loads(text)], True
    except ValueError:
        return [json.loads(line) for line in text.split("\n") if line], False


class Golden:
    """The files of a directory, one for each command."""

    def __init__(self, directory, update):
        self.directory, self.update = Path(directory), update
        self.pages = {}

    def add(self, page, title, text):
        self.pages.setdefault(page, []).append(f"==== {title}\n{text}")

    def compare(self):
        """The differences, as texts; with `update` there are none afterwards."""
        found = []
        for page, parts in sorted(self.pages.items()):
            path = self.directory / (page.replace(" ", "-") + ".golden")
            now = "\n".join(parts)
            before = path.read_text() if path.exists() else ""
            if now == before:
                continue
            if self.update:
                path.write_text(now)
                continue
            lines = difflib.unified_diff(before.split("\n"), now.split("\n"), str(path), "now",
                                         lineterm="", n=2)
            found.append("\n".join(list(lines)[:60]))
        known = {page.replace(" ", "-") + ".golden" for page in self.pages}
        for path in sorted(self.directory.glob("*.golden")):
            if path.name not in known:
                if self.update:
                    path.unlink()
                else:
                    found.append(f"{path}: nothing makes this page any more")
        return found
