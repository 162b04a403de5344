"""What is found in fleets of which it is known what is wrong with them, and that nothing is found where nothing is."""

import os
import subprocess
import sys
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from iowhy.fleet import asking, verdicts
from iowhy.fleet.answered import Tables, answered
from iowhy.fleet.asking import Question, fleet_result
from iowhy.fleet.far_disks import slower_than_peers
from iowhy.fleet.fleet_reports import ROLLOUT, fleet_reports
from iowhy.fleet.members import COLUMNS, LeftOut
from iowhy.fleet.packing import pack_fleet
from iowhy.fleet.places import places
from iowhy.reports import Filters
from tests.agent.lasting_store import BUCKET, lasting_store
from tests.examples import EXAMPLES
from tests.fleet import agents as of_agents
from tests.fleet.hosts import HOSTS, RECORDINGS, write_fleet
from tests.object_store import KEYS, reach

MANY, SLOW, ROLLED_OUT = 60, 37, 1
Row = dict[str, Any]
Facts = dict[str, list[Row]]
Answers = tuple[list[Row], list[Row]]


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Many hosts on two days: the disk of one is 3 times slower, and on the second day a rollout made fsync 10 % slower."""
    folder = tmp_path_factory.mktemp("hosts")
    write_fleet(folder, MANY, (0, 1), slow=SLOW, rollout=ROLLED_OUT)
    return folder


def answer(name: str, where: str, since: str | None = None) -> list[Row]:
    left_out = LeftOut()
    with fleet_result(Question(name, Filters(), since), places([where]), left_out) as result:
        found: list[Row] = result.table().to_pylist()
    assert not left_out.reasons
    return found


def is_slow_alone(found: list[Row], hosts: int) -> None:
    assert {(row["host"], row["device"]) for row in found} == {(f"web{SLOW:03}", "sda")}
    assert {row["op"] for row in found} == {"write", "flush"}
    for row in found:
        assert 2.3 < row["ratio"] < 3.9, row
        assert row["hosts"] == hosts and row["deviations"] > 5 and row["extra_ns"] > 0
        assert f"host=web{SLOW:03}" in row["worst"]


def test_it_is_named_by_whoever_asks_for_causes(hosts: Path) -> None:
    (said,) = slower_than_peers(places([str(hosts)]))
    assert (said.values["host"], said.values["device"]) == (f"web{SLOW:03}", "sda")
    assert said.values["peers"] == MANY - 1


def test_one_slow_disk_in_many_is_found_and_no_other(hosts: Path) -> None:
    is_slow_alone(answer("outliers", str(hosts)), MANY)


def test_one_slow_disk_is_found_in_packs(hosts: Path, tmp_path: Path) -> None:
    twenty = places([f"{hosts}/date=2025-11-01/host=web0[34]?"])
    list(pack_fleet(twenty, tmp_path, LeftOut()))
    is_slow_alone(answer("outliers", str(tmp_path)), 20)


@pytest.fixture
def unjudged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without verdicts, which take most of the time: of 20 hosts below."""
    monkeypatch.setattr(asking, "verdicts", lambda _paths, _left_out: iter(()))


@pytest.mark.usefixtures("unjudged")
def test_a_rollout_that_makes_fsync_a_tenth_slower_is_found(hosts: Path) -> None:
    found = answer("trend", str(hosts))
    grown = {(row["what"], row["name"]): row for row in found if row["changed"] == "grows"}
    fsync = grown[("call", "fsync")]
    assert fsync["low"] < 0.1 < fsync["high"] and fsync["low"] > 0.02
    assert fsync["hosts"] == MANY and fsync["since"].startswith("2025-11-02T00:")
    assert ("class", "waiting for sync") in grown


def test_the_cause_that_a_rollout_makes_worse_grows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the verdicts of 20 hosts, in whose recordings half of the time waits for fsync; they are packed, and judged once."""
    write_fleet(tmp_path / "loose", 20, (0, 1), rollout=ROLLED_OUT, calls=60)
    judged = list(verdicts.verdicts(places([str(tmp_path / "loose")]), LeftOut()))
    assert len(judged) == 40
    list(pack_fleet(places([str(tmp_path / "loose")]), tmp_path / "packs", LeftOut()))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "another"))
    monkeypatch.setattr(verdicts, "_judged", lambda waiting: iter(()) if not waiting else 1 / 0)
    found = answer("trend", str(tmp_path / "packs"))
    causes = {row["name"]: row for row in found if row["what"] == "cause"}
    grown = causes["flush-cost"]
    assert grown["changed"] == "grows" and grown["hosts"] == 20
    truth = 60 * 0.008 * 0.1  # of the second that each recording takes
    assert grown["low"] < truth < grown["high"] and grown["low"] > 0.005, grown
    assert {row["changed"] for name, row in causes.items() if name != "flush-cost"} <= {
        "shrinks",  # of the same second
        "no change is shown",
    }


@pytest.mark.usefixtures("unjudged")
def test_of_too_few_hosts_nothing_is_said(hosts: Path) -> None:
    few = str(hosts / "date=2025-11-0*" / "host=web00[0-6]")
    assert answer("outliers", few) == []
    found = answer("trend", few, "2025-11-02")
    assert {row["changed"] for row in found} == {"too few hosts"}
    assert {row["since"] for row in found} == {"2025-11-02T00:00:00.000Z"}


def made_facts(rng: np.random.Generator, hosts: int) -> tuple[list[Row], Facts]:
    """The facts of a fleet of two days, as they are gathered of its recordings."""
    members, work, calls, times, agents = [], [], [], [], []
    for number in range(2 * hosts):
        host, day = divmod(number, 2)
        if day == 0:
            own = rng.normal(0, HOSTS)
        of = {"host": f"web{host}", "recording": f"{number}", "started": f"2025-11-0{day + 1}"}
        members.append(dict.fromkeys(COLUMNS) | of | {"fleet_no": number, "command": "ledger"})
        told = ("recording", "agent")
        for by, op, size in product(told, ("write", "read", "flush"), (12, 13)):
            median = float(5e6 * np.exp(own + rng.normal(0, RECORDINGS)))
            work.append(
                {
                    "fleet_no": number,
                    "device": "sda",
                    "kind": "rotating",
                    "told_by": by,
                    "op": op,
                    "size_class": size,
                }
                | {"requests": 20, "total_ns": int(20 * median), "median_ns": median}
            )
        for name, kind in (("fsync", "sync"), ("pread64", "read"), ("openat", "lookup")):
            total = int(20 * 8e6 * np.exp(own + rng.normal(0, RECORDINGS)))
            calls.append(
                {"fleet_no": number, "name": name, "kind": kind, "calls": 20, "total_ns": total}
            )
        for measure, name in (("sync", "fsync"), ("io_wait", ""), ("request", "read")):
            total = int(20 * 8e6 * np.exp(own + rng.normal(0, RECORDINGS)))
            one = {"fleet_no": number, "measure": measure, "name": name, "service": "db"}
            agents.append(one | {"times": 20, "total_ns": total})
        for name in ("waiting for sync", "on-CPU user", "idle"):
            part = int(1e6 * np.exp(rng.normal(0, RECORDINGS)))
            times.append({"fleet_no": number, "class": name, "elapsed_part": part})
    facts = {"device_work": work, "call_work": calls, "class_time": times}
    return members, facts | {"agent_work": agents}


def made_verdicts(rng: np.random.Generator, hosts: int, worse: float = 1.0) -> Tables:
    """Of a fleet of two days: each host has two causes that explain its own shares, one of them where it is beyond a threshold that
    about half of the recordings pass. On the second day the first cause takes `worse` times as long, and where that is more a third one is new."""
    judged, found = [], []
    for number in range(2 * hosts):
        if number % 2 == 0:
            own = rng.normal(0, HOSTS)
        sync = 0.3 * np.exp(own + rng.normal(0, RECORDINGS)) * (worse if number % 2 else 1)
        rest = 0.1 * np.exp(own + rng.normal(0, RECORDINGS))
        judged.append({"fleet_no": number, "answer": "", "judged_ns": 10**9, "lost": 0})
        shares = {"flush-cost": sync, "cpu-serial": rest if rest > 0.1 else None}
        shares["lock-contended"] = 0.02 if worse > 1 and number % 2 else None
        for place, (cause, share) in enumerate(shares.items(), 1):
            if share is not None:
                row = dict.fromkeys(asking.FINDINGS) | {"fleet_no": number, "place": place}
                found.append(row | {"cause": cause, "elapsed_ns": int(share * 1e9)})
    return {"verdicts": (asking.VERDICTS, judged), "findings": (asking.FINDINGS, found)}


def trend_of(folder: Path, number: int, members: list[Row], facts: Facts, made: Tables) -> Answers:
    """The rows of trend and of outliers."""
    parts = {}
    for name, rows in facts.items():
        parts[name] = [folder / f"{name}-{number}.parquet"]
        pq.write_table(pa.Table.from_pylist(rows), parts[name][0])
    tables = made | {ROLLOUT: ({"since": "VARCHAR"}, [{"since": "2025-11-02"}])}
    found = []
    for name in ("trend", "outliers"):
        with answered(members, parts, fleet_reports()[name].report.sql, tables) as result:
            found.append(result.table().to_pylist())
    return found[0], found[1]


def test_in_fleets_without_a_fault_nothing_is_found(tmp_path: Path) -> None:
    rng = np.random.default_rng(17)
    for number in range(max(1, 8 * EXAMPLES // 15)):
        members, facts = made_facts(rng, 40)
        trend, outliers = trend_of(tmp_path, number, members, facts, made_verdicts(rng, 40))
        assert outliers == []
        assert {row["changed"] for row in trend} == {"no change is shown"}, trend
        assert {row["hosts"] for row in trend} == {40}
        told = {"agent sync", "agent io_wait", "agent request"}
        assert {row["what"] for row in trend} == {"call", "cause", "class"} | told


def test_causes_that_grow_or_are_new_are_found_in_200_hosts(tmp_path: Path) -> None:
    rng = np.random.default_rng(18)
    members, facts = made_facts(rng, 200)
    trend, _ = trend_of(tmp_path, 0, members, facts, made_verdicts(rng, 200, worse=1.1))
    changed = {row["name"]: row for row in trend if row["changed"] != "no change is shown"}
    assert {(row["what"], row["changed"]) for row in changed.values()} == {("cause", "grows")}
    assert changed.keys() == {"flush-cost", "lock-contended"}
    assert 0.005 < changed["flush-cost"]["low"] < 0.03 < changed["flush-cost"]["high"] < 0.05
    new = changed["lock-contended"]
    assert (new["before"], new["after"]) == (0, pytest.approx(0.02))


@pytest.fixture(scope="module")
def agents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What many agents, each a process, have kept of two days."""
    folder = tmp_path_factory.mktemp("agents")
    words = [sys.executable, "-m", "tests.fleet.agents", str(folder), str(MANY)]
    assert subprocess.run(words, check=False).returncode == 0
    return folder


def test_what_many_agents_count_shows_the_slow_disk_and_no_other(agents: Path) -> None:
    """Without one full recording: by the histograms that they add up in the kernel all day."""
    found = answer("outliers", str(agents))
    assert {(row["host"], row["device"], row["told_by"]) for row in found} == {
        (f"web{of_agents.SLOW:03}", "sda", "agent")
    }
    assert {row["op"] for row in found} == {"write", "flush"}
    for row in found:
        assert 2.3 < row["ratio"] < 3.9 and row["hosts"] == MANY, row


def test_what_many_agents_count_shows_a_rollout(agents: Path) -> None:
    trend = answer("trend", str(agents))
    changed = [row for row in trend if row["changed"] != "no change is shown"]
    (fsync,) = changed
    assert (fsync["what"], fsync["name"], fsync["service"]) == ("agent sync", "fsync", "ledger")
    assert fsync["changed"] == "grows" and fsync["hosts"] == MANY
    assert 0.02 < fsync["low"] < 0.1 < fsync["high"]
    assert {row["what"] for row in trend} == {"agent sync", "agent io_wait", "agent request"}


def test_agents_store_at_once_and_their_fleet_is_read_where_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "store").mkdir()
    with lasting_store(tmp_path / "store") as store:
        reach(monkeypatch, store.address)
        to = f"s3://{BUCKET}/agents"
        words = [sys.executable, "-m", "tests.fleet.agents", str(tmp_path / "here"), "12", to]
        assert subprocess.run(words, env=os.environ | KEYS, check=False).returncode == 0
        for name in ("agent-latencies", "trend"):
            here, there = (
                sorted(str({k: v for k, v in row.items() if k != "recording"}) for row in rows)
                for rows in (answer(name, str(tmp_path / "here")), answer(name, to))
            )
            assert here == there and here, name
