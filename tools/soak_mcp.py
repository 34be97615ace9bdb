#!/usr/bin/env python3
"""soak_mcp.py <build> <npm>

MCP as others speak it, with what is installed below <npm>: the conformance suite against /mcp of a
daemon whose tools have the names that the suite asks for (tests/app/mcp_fixture.cpp), and then the
SDKs of both eras as clients, over stdio and HTTP, of a daemon that is killed on the way
(tests/app/mcp_clients.mjs). What the suite is expected to fail, and why, is in
tests/app/mcp_conformance.json: anything else, better or worse, ends this with 1. Everything is on
127.0.0.1; each part has a limit of time.
"""
import collections
import http.client
import http.server
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

MOST_SECONDS = 30
SUITE_SECONDS = 400
MODERN = "2026-07-28"
HERE = os.path.dirname(os.path.abspath(__file__))
EXPECTED = os.path.join(HERE, "../tests/app/mcp_conformance.json")
CLIENTS = os.path.join(HERE, "../tests/app/mcp_clients.mjs")


def fail(text):
    sys.exit("soak_mcp: " + text)


class Daemon:
    """The same port and data after each start."""

    def __init__(self, program, place):
        self.program, self.place = program, place
        self.data = os.path.join(place, "data")
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.start()
        with open(os.path.join(self.data, "admin.token"), encoding="utf-8") as token:
            self.token = token.read().strip()

    def start(self):
        said = os.path.join(self.place, "daemon.txt")
        with open(said, "w", encoding="utf-8") as out:
            self.process = subprocess.Popen(
                [self.program, "serve", "--data", self.data, "--mcp-approve", "yes",
                 "--socket", self.data + "/tiffany.sock", "--listen", f"127.0.0.1:{self.port}"],
                stdout=out, stderr=subprocess.STDOUT)
        deadline = time.monotonic() + MOST_SECONDS
        while time.monotonic() < deadline:
            with open(said, encoding="utf-8") as text:
                if re.search("listens on http://", text.read()):
                    return
            if self.process.poll() is not None:
                break
            time.sleep(0.05)
        with open(said, encoding="utf-8") as text:
            fail("the daemon does not listen:\n" + text.read())

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def end(self):
        self.process.terminate()
        try:
            self.process.wait(MOST_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            fail("the daemon did not end")


def with_token(daemon):
    """A port that passes requests on as they are, with the token: the suite cannot send one."""

    class Passing(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def pass_on(self):
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            there = http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=60)
            there.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in self.headers.items():
                if name.lower() not in ("connection", "authorization"):
                    there.putheader(name, value)
            there.putheader("authorization", "Bearer " + daemon.token)
            there.endheaders(body)
            answer = there.getresponse()
            text = answer.read()
            self.send_response(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in ("connection", "content-length", "transfer-encoding"):
                    self.send_header(name, value)
            self.send_header("content-length", str(len(text)))
            self.end_headers()
            there.close()
            self.wfile.write(text)

        do_GET = do_POST = do_DELETE = pass_on

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Passing)
    server.handle_error = lambda *_: None  # the suite leaves when it has heard enough
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def run_suite(npm, url, version, place):
    """The checks of each scenario, by its name."""
    node = os.path.join(npm, "node_modules/node/bin/node")
    suite = os.path.join(npm, "node_modules/@modelcontextprotocol/conformance/dist/index.js")
    results = os.path.join(place, version)
    runs = [["--suite", "all", "--spec-version", version]]
    if version == MODERN:  # extensions belong to no version, and are run by their names
        listed = subprocess.run([node, suite, "list", "--server"], capture_output=True, text=True,
                                timeout=MOST_SECONDS, check=True).stdout
        runs += [["--scenario", each] for each in re.findall(r"- (tasks-\S+) \[extension", listed)]
    with open(results + ".txt", "w", encoding="utf-8") as out:
        for run in runs:
            subprocess.run([node, suite, "server", "--url", url, "--output-dir", results, *run],
                           stdout=out, stderr=subprocess.STDOUT, timeout=SUITE_SECONDS, check=False)
    found = {}
    for directory in sorted(os.listdir(results)):
        scenario = re.sub(r"^server-(.*?)-\d{4}-\d\d-\d\dT.*$", r"\1", directory)
        with open(os.path.join(results, directory, "checks.json"), encoding="utf-8") as checks:
            found[scenario] = json.load(checks)
    return found


def judge(version, found, expected):
    """Lines of a table, and what was not expected."""
    lines, wrong = [], []
    for scenario in sorted(set(found) | set(expected)):
        if scenario not in found:
            wrong.append(f"{version} {scenario}: the suite has no such scenario any more")
            continue
        counts = collections.Counter(check["status"] for check in found[scenario])
        failed = sorted({check["id"] for check in found[scenario] if check["status"] == "FAILURE"})
        entry = expected.get(scenario, {"fails": [], "why": ""})
        others = len(found[scenario]) - counts["SUCCESS"] - counts["FAILURE"]
        says = "as expected" if failed else "ok" if counts["SUCCESS"] else "nothing to check"
        if failed != sorted(entry["fails"]):
            says = "UNEXPECTED"
            wrong.append(f"{version} {scenario}: fails {failed}, expected {sorted(entry['fails'])}")
            for check in found[scenario]:
                if check["status"] == "FAILURE":
                    wrong.append(f"    {check['id']}: {check.get('errorMessage')}")
        lines.append(f"{version}  {scenario:<48} {counts['SUCCESS']:>4} {counts['FAILURE']:>4} "
                     f"{others:>5} {says}{': ' + entry['why'] if failed and entry['why'] else ''}")
    return lines, wrong


def conformance(build, npm, place):
    with open(EXPECTED, encoding="utf-8") as text:
        expected = json.load(text)
    daemon = Daemon(os.path.join(build, "tests/mcp_fixture"), place)
    server = with_token(daemon)
    lines, wrong = [], []
    for version in ("2025-11-25", MODERN):
        url = f"http://127.0.0.1:{server.server_port}/mcp"
        found = run_suite(npm, url, version, place)
        more, not_expected = judge(version, found, expected[version])
        lines, wrong = lines + more, wrong + not_expected
    server.shutdown()
    daemon.end()
    print(f"{'version':<11} {'scenario':<48} good fail other", *lines, sep="\n")
    return wrong


def clients(build, npm, place):
    """The script asks for a kill with a line; the daemon is there again when it is answered."""
    daemon = Daemon(os.path.join(build, "tests/mcp_fixture"), place)
    node = os.path.join(npm, "node_modules/node/bin/node")
    script = os.path.join(npm, "mcp_clients.mjs")
    with open(CLIENTS, encoding="utf-8") as text, open(script, "w", encoding="utf-8") as copy:
        copy.write(text.read())
    child = subprocess.Popen(
        [node, script, daemon.program, daemon.data + "/tiffany.sock",
         f"http://127.0.0.1:{daemon.port}/mcp", daemon.token],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    limit = threading.Timer(SUITE_SECONDS, child.kill)
    limit.start()
    for line in child.stdout:
        if line.strip() == "kill":
            daemon.kill()
            daemon.start()
            child.stdin.write("\n")
            child.stdin.flush()
        else:
            print(line, end="")
    child.wait()
    limit.cancel()
    daemon.end()
    return [] if child.returncode == 0 else [f"the clients ended with {child.returncode}"]


def main():
    build, npm = (os.path.abspath(each) for each in sys.argv[1:3])
    with tempfile.TemporaryDirectory() as place:
        wrong = []
        for part in (conformance, clients):
            below = os.path.join(place, part.__name__)
            os.mkdir(below)
            wrong += part(build, npm, below)
    if wrong:
        fail("not as expected:\n" + "\n".join(wrong))
    print("soak_mcp: everything as expected")


main()
