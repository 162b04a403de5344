"""A real Prometheus scrapes the agent; the board's and the alert rules' queries find what they ask for."""

import json
import re
import signal
import socket
import subprocess
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from conftest import cannot_run
from iowhy.agent import shipped
from iowhy.recording import open_recording
from machine import filesystem
from running_agent import agent, counts, within

pytestmark = pytest.mark.usefixtures("live")

BIN = Path(__file__).parents[2] / "target/packages/prometheus/usr/bin"
CONFIG = """
global: {{scrape_interval: 1s, evaluation_interval: 1s}}
rule_files: [{rules}]
scrape_configs:
  - job_name: iowhy
    static_configs: [{{targets: ["127.0.0.1:{agent}"]}}]
"""
#: What a board fills in.
VARIABLES = {"$__rate_interval": "1m", "$instance": ".*"}


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@contextmanager
def prometheus(folder: Path, scraped: int) -> Iterator[str]:
    """Its address, with the shipped rules."""
    folder.mkdir()
    rules, config = folder / "alerts.yml", folder / "prometheus.yml"
    rules.write_text(shipped.text("alerts"))
    config.write_text(CONFIG.format(rules=rules, agent=scraped))
    checked = [BIN / "promtool", "check", "config", config]
    assert subprocess.run(checked, capture_output=True, check=False).returncode == 0
    port = free_port()
    argv = [BIN / "prometheus", f"--config.file={config}", f"--storage.tsdb.path={folder / 'data'}"]
    argv += [f"--web.listen-address=127.0.0.1:{port}"]
    with (
        (folder / "log").open("wb") as log,
        subprocess.Popen(argv, stdout=log, stderr=log) as running,
    ):
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            running.send_signal(signal.SIGTERM)


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
        prometheus(tmp_path / "prometheus", port) as server,
    ):
        within(60, lambda: counts(root) and rows(server, "iowhy_triggers_total == 0"))
        running.send_signal(signal.SIGUSR1)
        file = f"{scratch.mount}/a"
        work = f"dd if=/dev/zero of={file} bs=64k count=64 conv=fsync; dd of={file} oflag=nocache conv=notrunc,fdatasync count=0; cat {file} > /dev/null"
        within(120, lambda: rows(server, "sum(iowhy_verdicts_total) > 0"))
        for query in ("iowhy_page_cache_bytes_total", "iowhy_latency_seconds_count"):
            subprocess.run(["sh", "-c", work], check=True, capture_output=True)
            within(30, lambda query=query: rows(server, f"rate({query}[1m]) > 0"))
        asked = list(queries())
        lacking = {query for query in asked if not rows(server, query)}
        rules = [rule for group in ask(server, "rules")["groups"] for rule in group["rules"]]
        assert [rule["lastError"] for rule in rules if rule["health"] != "ok"] == []
        assert len(rules) == len(re.findall("alert:", shipped.text("alerts")))
        # A recording that was started is seen by its rule.
        within(30, lambda: rows(server, 'ALERTS{alertname="IowhyTriggered", alertstate="firing"}'))
        scraped = urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10).read()
        linted = subprocess.run(
            [BIN / "promtool", "check", "metrics"], input=scraped, capture_output=True, check=False
        )
        assert linted.returncode == 0, linted
    assert running.returncode == 0, log.read_text()
    (kept,) = root.glob("date=*/host=*/*-agent.iowhy")
    recording = open_recording(kept)
    # Where no function may be traced, nothing is known of syncs: nothing else may lack.
    if any(recording.ran(f"agent_syncs_{fs}") for fs in ("ext4", "xfs", "btrfs")):
        assert lacking == set()
    assert [query for query in lacking if 'measure="sync"' not in query] == []
