"""Runs programs: daemons, and commands off a terminal and on one."""
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time
from pathlib import Path

LONGEST = 10  # seconds that anything is waited for


class Trouble(Exception):
    """Something is not as it has to be; the text says what."""


def eventually(is_so, what):
    end = time.monotonic() + LONGEST
    while True:
        found = is_so()
        if found:
            return found
        if time.monotonic() > end:
            raise Trouble(f"waited {LONGEST} s in vain: {what}")
        time.sleep(0.005)


class Said:
    """What a command wrote, and its exit status."""

    def __init__(self, status, out, err=""):
        self.status, self.out, self.err = status, out, err

    def __repr__(self):
        return f"exit {self.status}\n{self.out}{self.err}"


def environment(**more):
    """The same for every command, whatever the one has who runs this."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ}
    return {**kept, "LANG": "C.UTF-8", "TERM": "xterm-256color", "TZ": "UTC", **more}


def off_terminal(words, given="", **more):
    done = subprocess.run(words, input=given, capture_output=True, text=True, timeout=LONGEST,
                          env=environment(**more))
    return Said(done.returncode, done.stdout, done.stderr)


class OnTerminal:
    """A command with a terminal of its own; what it writes is read as bytes."""

    def __init__(self, words, columns=80, **more):
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))

        def own_terminal():
            os.setsid()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        self.process = subprocess.Popen(words, stdin=slave, stdout=slave, stderr=slave,
                                        env=environment(**more), preexec_fn=own_terminal)
        os.close(slave)
        self.text = ""

    def read(self, seconds):
        if not select.select([self.master], [], [], seconds)[0]:
            return False
        try:
            more = os.read(self.master, 65536)
        except OSError:  # the other end is closed
            more = b""
        self.text += more.decode("utf-8", "replace")
        return more != b""

    def until(self, text):
        end = time.monotonic() + LONGEST
        while text not in self.text:
            if not self.read(max(0, end - time.monotonic())):
                raise Trouble(f"the terminal never showed {text!r}, but {self.text!r}")

    def type(self, keys):
        os.write(self.master, keys.encode())

    def end(self):
        while self.read(LONGEST):
            pass
        os.close(self.master)
        return Said(self.process.wait(LONGEST), self.text)


class Follower:
    """A command off a terminal that goes on while other things happen."""

    def __init__(self, words, directory, **more):
        self.out = Path(directory) / "follower.out"
        self.err = Path(directory) / "follower.err"
        with open(self.out, "wb") as out, open(self.err, "wb") as err:
            self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=out,
                                            stderr=err, env=environment(**more))

    def until(self, text):
        eventually(lambda: text in self.out.read_text() + self.err.read_text(),
                   f"{self.process.args} to say {text!r}; it said {self.said()}")

    def said(self):
        return Said(self.process.poll(), self.out.read_text(), self.err.read_text())

    def end(self):
        self.process.wait(LONGEST)
        return self.said()

    def interrupt(self):
        self.process.send_signal(signal.SIGINT)


class Daemon:
    """`serve` of a program on a directory."""

    def __init__(self, program, data, *more, **variables):
        self.program, self.data = str(program), Path(data)
        self.more, self.variables = more, variables
        self.socket = str(self.data / "tiffany.sock")
        self.log = self.data.parent / (self.data.name + ".log")
        self.process = None

    def start(self, wait=True):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [self.program, "serve", "--data", str(self.data), *self.more], stdout=log,
                stderr=log, stdin=subprocess.DEVNULL, env=environment(**self.variables))
        if wait:
            eventually(self.ready, f"the daemon on {self.data}: {self.log.read_text()[-1000:]}")
        return self

    def ready(self):
        if self.process.poll() is not None:
            raise Trouble(f"the daemon on {self.data} ended: {self.log.read_text()[-1000:]}")
        return off_terminal([self.program, "--socket", self.socket, "ps"]).status == 0

    def kill(self):
        self.process.kill()
        self.process.wait()

    def terminate(self):
        self.process.terminate()

    def stop(self):
        """However it stands."""
        if self.process is not None and self.process.poll() is None:
            self.kill()
