"""A real Prometheus scrapes the agent; the board's and the alert rules' queries find what they ask for."""

import json
import os
import re
import signal
import subprocess
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conftest import cannot_run
from iowhy.agent import shipped
from machine import filesystem, python
from running_agent import agent, counts, within
from tests.agent.prometheus import BIN, free_port, prometheus

pytestmark = pytest.mark.usefixtures("live")

#: What a board fills in.
VARIABLES = {"$__rate_interval": "1m", "$instance": ".*", "$namespace": ".*", "$pod": ".*"}


def ask(server: str, path: str, **words: str) -> Any:
    query = urllib.parse.urlencode(words)
    with urllib.request.urlopen(f"{server}/api/v1/{path}?{query}", timeout=10) as answer:
        return json.load(answer)["data"]


def rows(server: str, query: str) -> list[Any]:
    try:
        return list(ask(server, "query", query=query)["result"])
    except OSError:  # it is not there yet
        return []


def queries() -> Iterator[str]:
    """Each of the board, and of each rule what it holds against a limit."""
    for panel in json.loads(shipped.text("board"))["panels"]:
        for target in panel["targets"]:
            query = target["expr"]
            for name, value in VARIABLES.items():
                query = query.replace(name, value)
            yield query
    for line in re.findall(r"expr: (.*)", shipped.text("alerts")):
        observed, _, limit = line.rpartition(" > " if " > " in line else " < ")
        assert float(limit) >= 0
        yield observed


def test_boards_and_alerts_ask_for_what_prometheus_finds(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    if not BIN.exists():
        cannot_run(request, "needs Prometheus: tools/packages prometheus")
    root, port = tmp_path / "agent", free_port()
    with (
        filesystem("ext4", tmp_path) as scratch,
        agent(root, more=f'metrics = "127.0.0.1:{port}"', triggers="") as (running, log),
        prometheus(tmp_path / "prometheus", f"127.0.0.1:{port}") as server,
    ):
        within(60, lambda: counts(root) and rows(server, "iowhy_triggers_total == 0"))
        running.send_signal(signal.SIGUSR1)
        file = f"{scratch.mount}/a"
        work = f"dd if=/dev/zero of={file} bs=64k count=64 conv=fsync; dd of={file} oflag=nocache conv=notrunc,fdatasync count=0; cat {file} > /dev/null"
        within(120, lambda: rows(server, "sum(iowhy_verdicts_total) > 0"))
        for query in ("iowhy_page_cache_bytes_total", "iowhy_latency_seconds_count"):
            subprocess.run(["sh", "-c", work], check=True, capture_output=True)
            within(60, lambda query=query: rows(server, f"rate({query}[1m]) > 0"))
        asked = list(queries())
        lacking = {query for query in asked if not rows(server, query)}
        rules = [rule for group in ask(server, "rules")["groups"] for rule in group["rules"]]
        assert [rule["lastError"] for rule in rules if rule["health"] != "ok"] == []
        assert len(rules) == len(re.findall("alert:", shipped.text("alerts")))
        # A recording that was started is seen by its rule.
        within(60, lambda: rows(server, 'ALERTS{alertname="IowhyTriggered", alertstate="firing"}'))
        scraped = urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10).read()
        linted = subprocess.run(
            [BIN / "promtool", "check", "metrics"], input=scraped, capture_output=True, check=False
        )
        assert linted.returncode == 0, linted
    assert running.returncode == 0, log.read_text()
    assert lacking == set()


#: Moves itself from group to group, and syncs in each.
IN_EACH = """
import os, sys
fd = os.open(sys.argv[1], os.O_CREAT | os.O_RDWR)
for group in sys.argv[2:]:
    with open(group + "/cgroup.procs", "w") as procs: procs.write("0")
    os.pwrite(fd, b"x" * 4096, 0)
    os.fdatasync(fd)
"""


@pytest.fixture
def groups() -> Iterator[list[Path]]:
    """A thousand services without processes."""
    old = Path("/sys/fs/cgroup/memory")
    top = (old if old.exists() else Path("/sys/fs/cgroup")) / f"iowhy-test-{os.getpid()}"
    made = [top, *(top / f"{number}.service" for number in range(1000))]
    for group in made:
        group.mkdir()
    yield made[1:]
    for group in reversed(made):
        group.rmdir()


def test_a_thousand_groups_stay_within_its_bounds(tmp_path: Path, groups: list[Path]) -> None:
    """As docs/agent.md has them: labels, lines of its log, answers and memory."""
    root, port = tmp_path / "agent", free_port()
    with (
        filesystem("ext4", tmp_path) as scratch,
        agent(root, more=f'metrics = "127.0.0.1:{port}"') as (running, log),
    ):
        within(60, lambda: counts(root))
        subprocess.run(python(IN_EACH, scratch.mount / "a", *groups), check=True)

        def scraped() -> str:
            address = f"http://127.0.0.1:{port}/metrics"
            with urllib.request.urlopen(address, timeout=30) as answer:
                return str(answer.read(), "utf-8")

        within(60, lambda: ".service" in scraped() and 'service="other"' in scraped())
        text = scraped()
        services = set(re.findall(r'service="([^"]*)"', text))
        children = Path(f"/proc/{running.pid}/task/{running.pid}/children").read_text().split()
        status = [Path(f"/proc/{pid}/status").read_text() for pid in (running.pid, *children)]
        peaks_kib = [
            int(found[1]) for one in status if (found := re.search(r"VmHWM:\s+(\d+)", one))
        ]
    assert 100 <= len(services) <= 102  # and "", of no service
    assert len(text) < 4 << 20
    assert sum(peaks_kib) < 128 << 10
    assert log.read_text().count("\n") <= 8
