#!/usr/bin/env python3
"""soak_prometheus.py <daemon>

A real Prometheus scrapes the daemon (examples/shop, built), everything on 127.0.0.1: its target
must come up, and what is queried there must be what the daemon has counted. The text of /metrics is
read by `promtool check metrics`, which may complain about one name of ours and about nothing else.
Exits with 1 and a sentence when anything differs. Bounded: each wait at half a minute.
"""
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request

MOST_SECONDS = 30
DISLIKED = "tasks_running_total"  # a gauge; the name is older than the advice against it


def fail(text):
    sys.exit("soak_prometheus: " + text)


def until(what, look):
    """What `look` gives, when that is not none."""
    deadline = time.monotonic() + MOST_SECONDS
    while time.monotonic() < deadline:
        try:
            found = look()
        except OSError:  # it does not listen yet
            found = None
        if found is not None:
            return found
        time.sleep(0.1)
    fail(f"{what}: not within {MOST_SECONDS} s")


def fetch(url, token=None, body=None):
    headers = {"Authorization": "Bearer " + token} if token else {}
    data = None if body is None else json.dumps(body).encode()
    if data is not None:
        headers["Content-Type"] = "application/json"
    request = urllib.request.Request(url, data=data, headers=headers)
    with urllib.request.urlopen(request, timeout=MOST_SECONDS) as answer:
        return answer.read().decode()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Daemon:
    def __init__(self, program, place):
        self.data = os.path.join(place, "data")
        self.said = open(os.path.join(place, "daemon.txt"), "w+", encoding="utf-8")
        self.process = subprocess.Popen(
            [program, "serve", "--data", self.data, "--listen", "127.0.0.1:0"],
            stdout=self.said, stderr=subprocess.STDOUT)
        self.url = until("the daemon listens", self.listens_on)
        with open(os.path.join(self.data, "admin.token"), encoding="utf-8") as token:
            self.token = token.read().strip()

    def listens_on(self):
        with open(self.said.name, encoding="utf-8") as said:
            found = re.search(r"listens on (http://[0-9.:]+)", said.read())
        if found is None and self.process.poll() is not None:
            fail("the daemon ended: see " + self.said.name)
        return found and found[1]

    def metrics(self):
        return fetch(self.url + "/metrics", self.token)

    def count(self, name):
        return float(re.search(rf"^{name} ([0-9.e+]+)$", self.metrics(), re.MULTILINE)[1])

    def start_tasks(self, count):
        order = {"type": "order", "arguments": {"order": {"id": "a7", "amount": 1200}}}
        for _ in range(count):
            fetch(self.url + "/api/v1/tasks", self.token, order)


class Prometheus:
    def __init__(self, daemon, place):
        token = os.path.join(place, "token")
        with open(token, "w", encoding="utf-8") as kept:
            kept.write(daemon.token)
        config = os.path.join(place, "prometheus.yml")
        with open(config, "w", encoding="utf-8") as text:
            text.write(f"""global:
  scrape_interval: 1s
scrape_configs:
  - job_name: tiffany
    authorization:
      credentials_file: {token}
    static_configs:
      - targets: ["{daemon.url.removeprefix("http://")}"]
""")
        subprocess.run(["promtool", "check", "config", config], check=True,
                       stdout=subprocess.DEVNULL)
        self.url = f"http://127.0.0.1:{free_port()}"
        self.said = open(os.path.join(place, "prometheus.txt"), "w", encoding="utf-8")
        self.process = subprocess.Popen(
            ["prometheus", "--config.file=" + config,
             "--storage.tsdb.path=" + os.path.join(place, "storage"),
             "--web.listen-address=" + self.url.removeprefix("http://")],
            stdout=self.said, stderr=subprocess.STDOUT)

    def target(self):
        """The health of the target when it was scraped, and is not unknown."""
        targets = json.loads(fetch(self.url + "/api/v1/targets"))["data"]["activeTargets"]
        if not targets or targets[0]["health"] == "unknown":
            return None
        return targets[0]["health"], targets[0]["lastError"]

    def query(self, expression):
        """The value that is known now; none: none is."""
        asked = urllib.parse.urlencode({"query": expression})
        result = json.loads(fetch(f"{self.url}/api/v1/query?{asked}"))["data"]["result"]
        return float(result[0]["value"][1]) if result else None

    def until_is(self, expression, value):
        until(f"{expression} is {value:g}", lambda: self.query(expression) == value or None)
        print(f"{expression} is {value:g}")


def end(part):
    if part is None:
        return
    part.process.terminate()
    try:
        part.process.wait(MOST_SECONDS)
    except subprocess.TimeoutExpired:
        part.process.kill()
        part.process.wait()
    part.said.close()


def check_text(daemon):
    checked = subprocess.run(["promtool", "check", "metrics"], input=daemon.metrics(), text=True,
                             capture_output=True, check=False)
    complaints = (checked.stdout + checked.stderr).strip().splitlines()
    others = [line for line in complaints if not line.startswith(DISLIKED + " ")]
    if others or len(complaints) > 1:
        fail("promtool check metrics: " + "\n".join(complaints))
    print("promtool check metrics: " + (complaints[0] if complaints else "no complaints"))


def check(place, program):
    daemon = prometheus = None
    try:
        daemon = Daemon(program, place)
        check_text(daemon)
        daemon.start_tasks(5)
        prometheus = Prometheus(daemon, place)
        health, error = until("the target was scraped", prometheus.target)
        if health != "up":
            fail(f"the target is {health}: {error}")
        prometheus.until_is("up", 1)
        prometheus.until_is("sum(tiffany_durable_tasks)", 5)
        daemon.start_tasks(7)
        prometheus.until_is("sum(tiffany_durable_tasks)", 12)
        # A counter, when nothing changes it any more.
        records = until("the log rests", lambda: at_rest(daemon, "tiffany_wal_records_total"))
        prometheus.until_is("tiffany_wal_records_total", records)
        check_text(daemon)
    finally:
        end(prometheus)
        end(daemon)


def at_rest(daemon, name):
    before = daemon.count(name)
    time.sleep(1)
    return before if before > 0 and before == daemon.count(name) else None


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    place = tempfile.mkdtemp(prefix="soak-prometheus-")
    check(place, os.path.abspath(sys.argv[1]))
    shutil.rmtree(place)


main()
