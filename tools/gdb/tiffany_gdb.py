"""The tasks of a program that uses Tiffany, in gdb: from a live process or a core file.

    (gdb) source tools/gdb/tiffany_gdb.py
    (gdb) tiffany tasks

prints for every scheduler of the process what Scheduler::dump_text() prints, line by line, except
what a system call says of itself ("waits for ..."): that is the answer of a function, and in a core
file no function can be called.

The program needs its symbol table (it must not be stripped) and no debug information: where to look
inside of the objects is listed in the program itself, at the symbol tiffany_schedulers.
"""

import gdb

STATES = ["pending", "ready", "running", "suspended", "preempted", "blocked",
          "completed", "failed", "cancelled"]
RUNNING, BLOCKED, COMPLETED = 2, 5, 6
CAUSES = ["requested", "sibling failed", "scope ended", "deadline", "timeout", "race decided",
          "shutdown"]
RUNNING_TOO = 3  # a task that yields again and again stays `suspended` while it runs
PRIORITIES, IS_RECORD, EXTRAS_TAGS = 256, 0xFFFFFFFF, 3
SHIELD, CLOSING = 2, 3  # kinds of cancel regions that hide what is further out
SHOWN_FRAMES, SHOWN_SPAWNS = 32, 8
FRAME_PROMISE = 16  # behind the two function pointers that begin every coroutine frame
FRAME_CALLER, FRAME_SITE = 0, 8


# ---- Memory


def unsigned(address, size):
    return int.from_bytes(gdb.selected_inferior().read_memory(address, size).tobytes(), "little")


def word(address):
    return unsigned(address, 8)


def signed(address):
    value = word(address)
    return value - (1 << 64) if value >> 63 else value


def chars(address, size):
    if size == 0:
        return ""
    return gdb.selected_inferior().read_memory(address, size).tobytes().decode("utf-8", "replace")


def c_string(address):
    text = b""
    while address and not text.endswith(b"\0"):
        # Not across a page: the next one may not be there.
        size = min(64, 4096 - address % 4096)
        piece = gdb.selected_inferior().read_memory(address, size).tobytes()
        end = piece.find(b"\0")
        text += piece if end < 0 else piece[: end + 1]
        address += size
    return text[:-1].decode("utf-8", "replace")


def std_string(address):  # libstdc++: pointer, size
    return chars(word(address), word(address + 8))


def string_view(address):  # libstdc++: size, pointer
    return chars(word(address + 8), word(address))


# ---- What dump_text.cpp, site.cpp and time_text.cpp do


def counted(count, what):
    return "%d %s%s" % (count, what, "" if count == 1 else "s")


def duration_text(count):
    sign, size = ("-", -count) if count < 0 else ("", count)
    for unit, digits, name in ((10**9, 9, "s"), (10**6, 6, "ms"), (10**3, 3, "us")):
        if size >= unit:
            rest = ("%0*d" % (digits, size % unit)).rstrip("0")
            return "%s%d%s %s" % (sign, size // unit, "." + rest if rest else "", name)
    return "%s%d ns" % (sign, size)


def id_text(value):
    slot, generation = value & 0xFFFFFFFF, value >> 32
    return "#%d" % slot if generation == 1 else "#%d.%d" % (slot, generation)


def function_text(signature):
    anonymous = "(anonymous namespace)"
    depth, at = 0, 0
    while at < len(signature):
        c = signature[at]
        if c == "<":
            depth += 1
        elif c == ">" and depth > 0:
            depth -= 1
        elif c == "(" and depth == 0:
            if not signature.startswith(anonymous, at):
                break
            at += len(anonymous) - 1
        at += 1
    depth, close = 0, at
    while close < len(signature):
        if signature[close] == "(":
            depth += 1
        if signature[close] == ")":
            depth -= 1
            if depth == 0:
                break
        close += 1
    if signature.startswith("::", close + 1):
        return ""
    begin = at
    while begin > 0 and (signature[begin - 1].isascii() and
                         (signature[begin - 1].isalnum() or signature[begin - 1] == "_")):
        begin -= 1
    name = signature[begin:at]
    return "" if name == "operator" else name


class Program:
    """What the symbol tiffany_schedulers says: the schedulers, the kinds of calls, the offsets."""

    def __init__(self):
        try:
            start = int(gdb.parse_and_eval("(unsigned long)&tiffany_schedulers"))
        except gdb.error:
            raise gdb.GdbError("There is no symbol tiffany_schedulers: this program does not use "
                               "Tiffany, or it was stripped.")
        self.first, first_kind, offsets = (word(start + 8 * i) for i in range(3))
        self.at = {}
        while word(offsets):
            self.at[c_string(word(offsets))] = word(offsets + 8)
            offsets += 16
        self.kinds = {}  # by the address of the type
        self.sites = {}
        while first_kind:
            name = word(first_kind + self.at["CallKind.name"])
            self.kinds[word(first_kind + self.at["CallKind.type"])] = string_view(
                name + self.at["CallName.name"])
            first_kind = word(first_kind + self.at["CallKind.next"])

    def schedulers(self):
        found, at = [], self.first
        while at:
            found.append(at - self.at["Scheduler.live"])
            at = word(at + self.at["LiveScheduler.next"])
        return found[::-1]  # the oldest first

    # A std::source_location is a pointer to file, function and line.
    def site(self, address):
        """(text, function), where the line is left out in the library; None when it has none."""
        if address == 0:
            return None
        if address not in self.sites:
            file = c_string(word(address))
            text = file.rsplit("/", 1)[-1]
            if "include/tiffany/" not in file and not file.startswith("tiffany:"):
                text += ":%d" % unsigned(address + 16, 4)
            self.sites[address] = (text, function_text(c_string(word(address + 8))))
        return self.sites[address]

    # The word before a table of virtual functions points to the type.
    def call_name(self, call):
        return self.kinds.get(word(word(call) - 8), "a call")


class Task:
    def __init__(self, program, address):
        at = program.at
        self.address = address

        def field(name):
            return word(address + at["TaskRecord." + name])

        self.id = field("id")
        self.state = unsigned(address + at["TaskRecord.state"], 1)
        self.priority = unsigned(address + at["TaskRecord.priority"], 1)
        self.steps = field("steps")
        self.call = field("waiting_on")
        self.cursor = field("cursor")
        self.parent = field("parent")
        self.spawn_site = field("spawn_site")
        self.scope = field("scope")
        extras = field("extras")
        shared = extras - EXTRAS_TAGS if extras & EXTRAS_TAGS == EXTRAS_TAGS else 0
        if extras & EXTRAS_TAGS:  # something else than extras
            extras = 0
        self.name = std_string(extras + at["Extras.name"]) if extras else ""
        if shared:  # a name that others have too
            self.name = std_string(shared + at["SharedName.text"])
        self.cancel = word(extras + at["Extras.cancel"]) if extras else 0
        self.regions = []  # (scope, reason, hides), innermost first
        region = field("region")
        while region:
            kind = unsigned(region + at["CancelRegion.kind"], 1)
            self.regions.append((word(region + at["CancelRegion.scope"]),
                                 word(region + at["CancelRegion.reason"]),
                                 kind in (SHIELD, CLOSING)))
            region = word(region + at["CancelRegion.outer"])

    def describe(self):
        return "task " + id_text(self.id) + (' "%s"' % self.name if self.name else "")

    def cancelled(self):
        """The reason (0: none), and whether a shield holds it back."""
        for _, reason, hides in self.regions:
            if reason:
                return reason, False
            if hides:
                return self.cancel, self.cancel != 0
        return self.cancel, False


class Dump:
    def __init__(self, program, scheduler):
        self.program = program
        self.scheduler = scheduler
        self.now = signed(scheduler + program.at["Scheduler.now"])
        self.known = {}  # every record that is there, by id
        self.tasks = []  # those that have not ended, in the order of their slots
        blocks = scheduler + program.at["Scheduler.blocks"]
        size, count = program.at["TaskRecord.size"], program.at["TaskTable.per_block"]
        for block in range(word(blocks), word(blocks + 8), 8):
            for i in range(count):
                address = word(block) + i * size
                if word(address) == 0:  # an empty slot
                    continue
                task = Task(program, address)
                self.known[task.id] = task
                if task.state < COMPLETED:
                    self.tasks.append(task)
        self.count_yields()
        self.show_running()

    # The yields of tasks that only yield are counted beside their places in the ready queue.
    def count_yields(self):
        at = self.program.at
        by_slot = {task.id & 0xFFFFFFFF: task for task in self.tasks}
        for priority in range(PRIORITIES):
            ring = self.scheduler + at["Scheduler.rings"] + priority * at["Ring.size"]
            places, yields, mask, head, tail = (
                word(ring + at["Ring." + name])
                for name in ("places", "yields", "mask", "head", "tail"))
            for position in range(head, tail):
                index = position & mask
                count = unsigned(yields + 4 * index, 4)
                if count != IS_RECORD:
                    by_slot[unsigned(places + 8 * index, 4) + 1].steps += count

    def show_running(self):
        running, ring = self.number("running"), self.number("ring")
        task = next((task for task in self.tasks if task.address == running), None)
        if task is None:
            return
        if task.state == RUNNING_TOO:
            task.state = RUNNING
        at = self.program.at
        yields = word(ring + at["Ring.yields"])
        if yields:
            index = (word(ring + at["Ring.head"]) - 1) & word(ring + at["Ring.mask"])
            count = unsigned(yields + 4 * index, 4)
            if count != IS_RECORD:
                task.steps += count

    def slices(self):
        head = word(self.number("ring") + self.program.at["Ring.head"])
        return (self.number("slice_base") + head) % (1 << 64)

    def text(self):
        self.name_scopes()
        lines = self.header() + self.scope_lines()
        for task in self.tasks:
            lines += self.task_lines(task)
        return "\n".join(lines)

    def number(self, name):
        return word(self.scheduler + self.program.at["Scheduler." + name])

    def header(self):
        states = [sum(task.state == state for task in self.tasks) for state in range(len(STATES))]
        shown = ["%d %s" % pair for pair in zip(states, STATES) if pair[0]]
        lines = ["Scheduler at %s: %s%s" % (duration_text(self.now),
                                            counted(len(self.tasks), "task"),
                                            " (%s)" % ", ".join(shown) if shown else "")]
        calls = {}
        for task in self.tasks:
            if task.call:
                name = self.program.call_name(task.call)
                calls[name] = calls.get(name, 0) + 1
        if calls:
            lines.append("  blocked in " + ", ".join("%s: %d" % pair
                                                     for pair in sorted(calls.items())))
        ended = self.scheduler + self.program.at["Scheduler.ended"]
        ended = [word(ended + 8 * i) for i in range(3)]
        lines.append("  %s armed, %s pending, %s" % (
            counted(self.number("timers"), "timer"),
            counted(self.number("externals"), "external promise"),
            counted(self.slices(), "slice")))
        lines.append("  spawned %d, completed %d, failed %d, cancelled %d" % (
            self.number("live_tasks") + sum(ended), *ended))
        lines.append("  trace hash %016x" % self.number("trace_hash"))
        return lines

    def name_scopes(self):
        self.scope_names = {}
        self.scopes = []  # (scope, name, name of the one around it)
        opened = []
        for task in self.tasks:
            own = [scope for scope, _, _ in reversed(task.regions) if scope]
            for depth, scope in enumerate(own, 1):
                self.scope_names[scope] = "%s/%d" % (id_text(task.id), depth)
                opened.append((scope, own[depth - 2] if depth > 1 else task.scope))
        for scope, parent in opened:
            self.scopes.append((scope, self.scope_name(scope), self.scope_name(parent)))

    def scope_name(self, scope):
        return self.scope_names.get(scope, "root")

    def scope_lines(self):
        root = self.scheduler + self.program.at["Scheduler.root"]
        lines = []
        for scope, name, parent in [(root, "root", None)] + self.scopes:
            at = self.program.at
            line = "scope %s: %s" % (name, counted(word(scope + at["Scope.live"]), "task"))
            if parent is not None:
                line += ", inside " + parent
            timer = scope + at["Scope.deadline"]
            if word(timer + at["Timer.armed"]):
                line += ", deadline " + duration_text(signed(timer + at["Timer.deadline"]))
            lines.append(line)
            reason = word(scope + at["Scope.reason"])
            if reason:
                lines.append(self.reason_line(reason))
        return lines

    def task_lines(self, task):
        line = "%s: %s" % (task.describe(), STATES[task.state])
        if task.call:
            since = signed(task.call + self.program.at["SystemCall.since"]) & ~7
            line += " in %s for %s, since %s" % (self.program.call_name(task.call),
                                                 duration_text(self.now - since),
                                                 duration_text(since))
        lines = [line] + self.stack_lines(task) + [self.spawn_line(task)]
        lines.append("      in scope %s, priority %d, %s" % (
            self.scope_name(task.scope), task.priority, counted(task.steps, "step")))
        reason, shielded = task.cancelled()
        if reason:
            lines.append(self.reason_line(reason) +
                         (", held back by a shield" if shielded else ""))
        return lines

    def stack_lines(self, task):
        lines, frames = [], 0
        frame = task.cursor if task.state != RUNNING else 0
        while frame:
            frames += 1
            if frames <= SHOWN_FRAMES:
                site = self.program.site(word(frame + FRAME_PROMISE + FRAME_SITE))
                if site is None:
                    lines.append("      before its first await")
                else:
                    lines.append("      at " + site[0] + (" in " + site[1] if site[1] else ""))
            frame = word(frame + FRAME_PROMISE + FRAME_CALLER)
        if frames > SHOWN_FRAMES:
            lines.append("      ... and %d more" % (frames - SHOWN_FRAMES))
        return lines

    def spawn_line(self, task):
        steps = []
        while task is not None and len(steps) < SHOWN_SPAWNS:
            steps.append("spawned at " + self.program.site(task.spawn_site)[0] +
                         (" by task " + id_text(task.parent) if task.parent else ""))
            task = self.known.get(task.parent)
        return "      " + ", ".join(steps)

    def reason_line(self, reason):
        at = self.program.at
        cause = CAUSES[unsigned(reason + at["CancelReason.cause"], 1)]
        site = self.program.site(word(reason + at["CancelReason.site"]))
        if site is None:
            return ("      cancelled, with no memory left to record by whom, where and why (%s)" %
                    cause)
        requester = word(reason + at["CancelReason.requester"])
        message = std_string(reason + at["CancelReason.message"])
        return "      cancelled%s at %s%s (%s), asked at %s" % (
            " by task " + id_text(requester) if requester else "",
            site[0],
            ": " + message if message else "",
            cause,
            duration_text(signed(reason + at["CancelReason.time"])))


class TiffanyCommand(gdb.Command):
    """Look at the tasks of Tiffany's schedulers."""

    def __init__(self):
        super().__init__("tiffany", gdb.COMMAND_DATA, prefix=True)


class TasksCommand(gdb.Command):
    """List every task of every scheduler: state, where it waits and since when, who spawned it."""

    def __init__(self):
        super().__init__("tiffany tasks", gdb.COMMAND_DATA)

    def invoke(self, argument, from_tty):
        program = Program()
        schedulers = program.schedulers()
        if not schedulers:
            gdb.write("There is no scheduler.\n")
        for scheduler in schedulers:
            gdb.write(Dump(program, scheduler).text() + "\n")


TiffanyCommand()
TasksCommand()
