"""What is found in fleets of which it is known what is wrong with them, and that nothing is found where nothing is."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from iowhy.fleet.answered import answered
from iowhy.fleet.asking import Question, fleet_result
from iowhy.fleet.fleet_reports import ROLLOUT, fleet_reports
from iowhy.fleet.members import COLUMNS, LeftOut
from iowhy.fleet.places import places
from iowhy.reports import Filters
from tests.fleet.hosts import HOSTS, RECORDINGS, write_fleet

SLOW, ROLLED_OUT = 137, 1
Row = dict[str, Any]


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """200 hosts on two days: the disk of one is 3 times slower, and on the second day a rollout made fsync 10 % slower."""
    folder = tmp_path_factory.mktemp("hosts")
    write_fleet(folder, 200, (0, 1), slow=SLOW, rollout=ROLLED_OUT)
    return folder


def answer(name: str, where: str, since: str | None = None) -> list[Row]:
    left_out = LeftOut()
    with fleet_result(Question(name, Filters(), since), places([where]), left_out) as result:
        found: list[Row] = result.table().to_pylist()
    assert not left_out.reasons
    return found


def test_one_slow_disk_in_200_is_found_and_no_other(hosts: Path) -> None:
    found = answer("outliers", str(hosts))
    assert {(row["host"], row["device"]) for row in found} == {(f"web{SLOW}", "sda")}
    assert {row["op"] for row in found} == {"write", "flush"}
    for row in found:
        assert 2.3 < row["ratio"] < 3.9, row
        assert row["hosts"] == 200 and row["deviations"] > 5 and row["extra_ns"] > 0
        assert f"host=web{SLOW}" in row["worst"]


def test_a_rollout_that_makes_fsync_a_tenth_slower_is_found(hosts: Path) -> None:
    found = answer("trend", str(hosts))
    grown = {(row["what"], row["name"]): row for row in found if row["changed"] == "grows"}
    fsync = grown[("call", "fsync")]
    assert fsync["low"] < 0.1 < fsync["high"] and fsync["low"] > 0.02
    assert fsync["hosts"] == 200 and fsync["since"].startswith("2025-11-02T00:")
    assert ("class", "waiting for sync") in grown


def test_of_too_few_hosts_nothing_is_said(hosts: Path) -> None:
    few = str(hosts / "date=2025-11-0*" / "host=web00[0-6]")
    assert answer("outliers", few) == []
    found = answer("trend", few, "2025-11-02")
    assert {row["changed"] for row in found} == {"too few hosts"}
    assert {row["since"] for row in found} == {"2025-11-02T00:00:00.000Z"}


def made_facts(rng: np.random.Generator, hosts: int) -> tuple[list[Row], dict[str, list[Row]]]:
    """The facts of a fleet of two days, as they are gathered of its recordings."""
    members, work, calls, times = [], [], [], []
    for number in range(2 * hosts):
        host, day = divmod(number, 2)
        if day == 0:
            own = rng.normal(0, HOSTS)
        told = {"host": f"web{host}", "recording": f"{number}", "started": f"2025-11-0{day + 1}"}
        members.append(dict.fromkeys(COLUMNS) | told | {"fleet_no": number, "command": "ledger"})
        for op, size in (("write", 12), ("write", 13), ("read", 12), ("flush", 0)):
            median = float(5e6 * np.exp(own + rng.normal(0, RECORDINGS)))
            work.append(
                {
                    "fleet_no": number,
                    "device": "sda",
                    "kind": "rotating",
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
        for name in ("waiting for sync", "on-CPU user", "idle"):
            part = int(1e6 * np.exp(rng.normal(0, RECORDINGS)))
            times.append({"fleet_no": number, "class": name, "elapsed_part": part})
    return members, {"device_work": work, "call_work": calls, "class_time": times}


def test_in_50_fleets_without_a_fault_nothing_is_found(tmp_path: Path) -> None:
    rng = np.random.default_rng(17)
    for number in range(50):
        members, facts = made_facts(rng, 40)
        parts = {}
        for name, rows in facts.items():
            parts[name] = [tmp_path / f"{name}-{number}.parquet"]
            pq.write_table(pa.Table.from_pylist(rows), parts[name][0])
        rollout = {ROLLOUT: ({"since": "VARCHAR"}, [{"since": "2025-11-02"}])}
        reports = fleet_reports()
        with answered(members, parts, reports["outliers"].report.sql, rollout) as result:
            assert result.table().to_pylist() == []
        with answered(members, parts, reports["trend"].report.sql, rollout) as result:
            found = result.table().to_pylist()
        assert {row["changed"] for row in found} == {"no change is shown"}, found
        assert {row["hosts"] for row in found} == {40}
