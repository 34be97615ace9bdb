"""Runs the cases, and checks what they say."""
import re
import shlex

from .cases import CASES, ELSEWHERE
from .golden import COLOURS, Plain, jsons, shape_text
from .running import OnTerminal, Trouble, off_terminal

WIDTHS = (80, 50, 140)
PLACE = re.compile(r"\{(new:)?(\w+)\}")
HEADER = re.compile(r"[A-Z][A-Z0-9…]*(  +[A-Z][A-Z0-9…]*)+")
ESCAPE = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]|\x1b.")


class Walk:
    def __init__(self, world, tmux, golden, only=""):
        self.world, self.tmux, self.golden, self.only = world, tmux, golden, only
        self.plain = Plain(world.work)
        self.complaints, self.panes = [], ""
        self.reached = {}  # exit status: the first command that ended with it
        self.walked = set()
        self.runs = 0

    def complain(self, case, how, sentence):
        self.complaints.append(f"{case.verb} {case.words} ({how}): {sentence}")

    def words_of(self, case, *before, socket=None):
        """The words of a case with their places filled; what is new is made."""
        def fill(found):
            value = getattr(self.world, found.group(2))
            return str(value() if found.group(1) else value)

        text = PLACE.sub(fill, case.words.replace("{{", "\x01").replace("}}", "\x02"))
        text = text.replace("\x01", "{").replace("\x02", "}")
        program = getattr(self.world, case.program)
        # Those for logs without a daemon take their words as they stand.
        where = ["--socket", socket or self.world.socket] if case.daemon else []
        return [program, *where, *before, *case.verb.split(), *shlex.split(text)]

    def reach(self, case, status, how):
        self.runs += 1
        if status not in self.reached:
            self.reached[status] = f"{case.verb} {case.words} ({how})".replace("  ", " ")

    def expect(self, case, status, wanted, how, text):
        self.reach(case, status, how)
        if status != wanted:
            self.complain(case, how, f"ended with {status} instead of {wanted}:\n{text}")

    def run(self):
        for case in CASES:
            if self.only not in ("states", "shells") and self.only in f"{case.verb} {case.words}":
                try:
                    self.walk(case)
                except Trouble as trouble:
                    self.complain(case, "walk", str(trouble))

    def walk(self, case):
        self.walked.add(case.verb)
        title = f"$ {case.program} {case.verb} {case.words}".rstrip()
        self.sentences = set()  # to standard error: a terminal may break these
        self.walk_off_terminal(case, title)
        for form in case.formats.split():
            self.walk_format(case, title, form)
        self.walk_panes(case, title)
        if not case.screen:
            self.walk_colours(case)

    def walk_off_terminal(self, case, title):
        words = self.words_of(case)
        said = off_terminal(words)
        self.expect(case, said.status, case.status, "off the terminal", said)
        if "\x1b" in said.out + said.err:
            self.complain(case, "off the terminal", "has escape sequences")
        if said.status != 0 and not said.out.strip() and not said.err.strip():
            self.complain(case, "off the terminal", "ends badly without a word")
        self.sentences.update(self.plain.text(said.err).split("\n"))
        self.said_off_terminal = self.plain.text(f"{said.out}{said.err}")
        if case.golden:
            self.add(case, f"{title}   exit {said.status}", self.said_off_terminal)

    def add(self, case, title, text):
        self.golden.add(case.verb or "nothing", title, text)

    def walk_format(self, case, title, form):
        said = off_terminal(self.words_of(case, "-o", form))
        self.expect(case, said.status, case.status, f"-o {form}", said)
        title = f"{title} -o {form}"
        if form not in ("json", "jsonl"):
            return self.add(case, title, self.plain.text(said.out)) if case.golden else None
        try:
            values, one = jsons(said.out)
        except ValueError as error:
            return self.complain(case, f"-o {form}", f"is no JSON ({error}): {said.out[:300]}")
        if form == "json" and not one:
            self.complain(case, "-o json", f"is no single JSON text: {said.out[:300]}")
        return self.add(case, title, shape_text(values))

    def walk_panes(self, case, title):
        wanted = case.status if case.on_terminal < 0 else case.on_terminal
        before = self.said_off_terminal
        for width in WIDTHS:
            line = shlex.join(self.words_of(case))
            pane = self.tmux.run(width, line, case.typed)
            self.rows = self.rows_of(pane.text)
            if case.screen:
                pane.text = "\n".join(each.rstrip() for each in self.tmux.before.split("\n"))
            how = f"{width} columns"
            self.panes += f"#### {title}   {how}   exit {pane.status}\n{pane.text}"
            self.expect(case, pane.status, wanted, how, pane.text)
            for long in pane.wrapped:
                if not self.may_wrap(case, width, long):
                    self.complain(case, how, f"{len(long)} columns: {long}")
            text = self.plain.text(pane.text)
            if case.golden and text != before:
                self.add(case, f"{title}   in {width} columns, exit {pane.status}", text)
            if width == WIDTHS[0]:
                before = text
            self.check_table(case, how)

    def may_wrap(self, case, width, line):
        """Sentences, data as long as it is, and in a narrow pane all but tables and help."""
        sentence = self.plain.text(line) in self.sentences or line.startswith("tiffany: ")
        narrow = width < 80 and case.verb != "help" and not self.in_table(line)
        return case.wraps or sentence or narrow or "tiffany --socket" in line

    def in_table(self, line):
        return line in self.rows

    def rows_of(self, text):
        """Lines of tables, each with the places where its columns begin."""
        rows, begins = {}, []
        for line in text.split("\n"):
            if HEADER.fullmatch(line):
                begins = [found.start() for found in re.finditer(r"[A-Z0-9…]+", line)]
            elif not line.strip() or self.plain.text(line) in self.sentences:
                begins = []
            if begins:
                rows[line] = begins
        return rows

    def check_table(self, case, how):
        """Below a line of names in capitals, each column begins where its name does."""
        for line, begins in self.rows.items():
            if any(len(line) >= begin and line[begin - 1] != " " for begin in begins[1:]):
                self.complain(case, how, f"the table is not aligned: {line}")

    def walk_colours(self, case):
        said = self.on_terminal(case)
        rest = COLOURS.sub("", said.out).replace("\r\n", "\n")
        stray = ESCAPE.search(rest)
        if stray:
            self.complain(case, "as bytes", f"has the escape sequence {stray.group(0)!r}")
        if "\r" in rest or "\x07" in rest or "\x08" in rest:
            self.complain(case, "as bytes", f"moves the cursor: {rest!r}")
        if case.changes or not case.golden:
            return
        for name, value in (("NO_COLOR", "1"), ("TERM", "dumb")):
            said = self.on_terminal(case, **{name: value})
            if "\x1b" in said.out:
                self.complain(case, f"{name}={value}", "has escape sequences")
            if self.plain.text(said.out.replace("\r\n", "\n")) != self.plain.text(rest):
                self.complain(case, f"{name}={value}", "says something else than with colours")

    def on_terminal(self, case, **variables):
        terminal = OnTerminal(self.words_of(case), **variables)
        for when, keys in case.typed:
            terminal.until(when)
            terminal.type("".join({"Enter": "\n", "C-d": "\x04"}.get(key, key) for key in keys))
        self.runs += 1
        return terminal.end()

    # ---- At the end ----

    def check_complete(self):
        """Every command that the program has was walked, every exit status reached."""
        page = off_terminal([self.world.tiffany, "__reference"]).out
        verbs = [re.match(r"((?:[a-z][a-z-]*(?: |$))+)", line).group(1).strip()
                 for line in re.findall(r"^`tiffany (.*)`$", page, re.M)]
        if len(verbs) < 50:
            raise Trouble(f"__reference names {len(verbs)} commands; its form has changed")
        for verb in verbs:
            if verb not in self.walked | ELSEWHERE:
                self.complaints.append(f"nobody walks `{verb}`: it needs a line in "
                                       "tools/cli_walk/cases.py")
        for status in re.findall(r"^\| (\d+) \|", page, re.M):
            if int(status) not in self.reached:
                self.complaints.append(f"no case ends with {status}")
        self.verbs = verbs

    def summary(self, seconds):
        lines = [f"{status:>4}  {how}" for status, how in sorted(self.reached.items())]
        return ("exit statuses, and who reached them first:\n" + "\n".join(lines) +
                f"\n{len(self.walked)} commands, {len(CASES)} cases, {self.runs} runs, "
                f"{seconds:.0f} s; {len(self.complaints)} complaints")
