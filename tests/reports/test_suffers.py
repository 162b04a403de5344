"""Who suffers and who causes it; containers; one process of a machine as if it alone had been watched."""

import pytest
from msgspec.structs import replace

from iowhy.errors import Problem
from iowhy.overview import overview_of
from iowhy.recording import Recording
from iowhy.relations import Relations
from iowhy.relations.narrowed import Narrowed
from iowhy.reports import run
from iowhy.whys import classes
from tests.command_line import invoke
from tests.reports.conftest import MS, T0, Make, S, request, spent, wait

SHARED = {"interval_ns": S, "ts_ns": T0, "estimated": False, "dev": 1}


@pytest.fixture
def machine(make: Make) -> Recording:
    """Process 10 waits for the device that 20 loads more; 30 is paused for the dirty pages of 20."""
    rec = make(
        {
            "threads": [
                {"tid": 10, "tgid": 10, "comm": "=reads()", "start_ns": T0, "container": "c1"},
                {"tid": 20, "tgid": 20, "comm": "noise", "start_ns": T0, "container": "c2"},
                {"tid": 30, "tgid": 30, "comm": "writes", "start_ns": T0, "container": ""},
            ],
            "containers": [
                {"id": "c1", "name": "web", "image": "nginx:1", "pod": "web-0", "pod_namespace": "prod", "cgroup": "/a"},
                {"id": "c2", "name": "backup.service", "cgroup": "/b"},
            ],
            "neighbours": [{"tgid": 77, "comm": "kworker/1", "container": ""}],
            "devices": [{"dev": 7, "name": "vda", "size_bytes": 1 << 40}],
            "thread_time": [
                spent(0, S, tid=10, blocked=400 * MS),
                spent(0, S, tid=20, user=900 * MS) | {"tgid": 20},
                spent(0, S, tid=30, blocked=200 * MS) | {"tgid": 30},
            ],
            "waits": [
                wait(0, 400 * MS, "direct_io"),
                wait(0, 200 * MS, "dirty_throttle", tid=30) | {"tgid": 30},
            ],
            "block_requests": [
                request(0, 200 * MS, "read", dev=7, in_scope=True, owner_dev=None, owner_ino=None),
                request(0, 600 * MS, "read", dev=7, tgid=20, tid=20, in_scope=True, owner_dev=None, owner_ino=None),
                request(0, 100 * MS, "write", dev=7, tgid=77, tid=77, in_scope=True, owner_dev=1, owner_ino=2),
            ],
            "syscalls": [],
            "page_cache": [
                SHARED | {"tgid": 20, "ino": 2, "dirtied_pages": 30},
                SHARED | {"tgid": 30, "ino": 2, "dirtied_pages": 10},
            ],
        }
    )  # fmt: skip
    command = replace(rec.manifest.command, mode="machine")
    return replace(rec, manifest=replace(rec.manifest, command=command))


def test_who_suffers_from_what_and_who_loads_it(machine: Recording) -> None:
    reads, writes = run(machine, "suffers").to_pylist()
    assert (reads["comm"], reads["container"], reads["waited_ns"]) == ("=reads()", "web", 400 * MS)
    assert (reads["mostly"], reads["mostly_ns"]) == ("waiting to read", 400 * MS)
    assert (reads["resource"], reads["other_comm"]) == ("vda", "noise")
    assert reads["other_container"] == "backup.service"
    assert reads["own_share"] == pytest.approx(200 / 900)
    assert reads["other_share"] == pytest.approx(600 / 900)
    assert (writes["tgid"], writes["mostly"], writes["resource"]) == (
        30,
        "throttled",
        "dirty pages",
    )
    assert (writes["other_tgid"], writes["other_share"], writes["own_share"]) == (20, 0.75, 0.25)


def test_containers_have_the_sums_of_their_processes(machine: Recording) -> None:
    rows = {row["container"]: row for row in run(machine, "containers").to_pylist()}
    assert set(rows) == {"web", "backup.service", None}
    assert (rows["web"]["pod"], rows["web"]["image"]) == ("prod/web-0", "nginx:1")
    for name in ("backup.service", None):
        assert rows[name]["pod"] is rows[name]["image"] is None
    assert (rows["web"]["waited_ns"], rows["web"]["mostly"]) == (400 * MS, "waiting to read")
    assert (rows[None]["processes"], rows[None]["waited_ns"]) == (2, 200 * MS)
    processes = run(machine, "processes").to_pylist()
    for column in ("requests", "request_ns", "read_bytes", "cpu_ns", "waited_ns", "dirtied_pages"):
        assert sum(row[column] or 0 for row in rows.values()) == sum(
            row[column] or 0 for row in processes
        )


def test_of_one_process_the_others_are_others(machine: Recording) -> None:
    with Relations.of(machine, narrowed=Narrowed(pids=(10,))) as relations:
        whose = relations.rows("SELECT tgid, whose FROM counted_requests ORDER BY tgid")
        assert whose == [(10, "command"), (20, "others"), (77, "others")]
        assert relations.rows("SELECT DISTINCT tgid FROM thread_time") == [(10,)]
        assert relations.rows("SELECT tgid FROM neighbours ORDER BY 1") == [(20,), (30,), (77,)]
        dirtied = "SELECT tgid, pages FROM dirtied_by_others ORDER BY tgid"
        assert relations.rows(dirtied) == [(20, 30), (30, 10)]
    assert overview_of(machine, (10,)).verdict.budget.elapsed(classes.READ) == pytest.approx(0.4)
    for pid, said in ((77, "only what it did"), (5, "no process of the recording")):
        with pytest.raises(Problem, match=said):
            overview_of(machine, (pid,))


def test_a_stretch_of_time_has_its_rows_and_its_length(machine: Recording) -> None:
    with Relations.of(machine, narrowed=Narrowed(since_ns=T0 + 1)) as relations:
        assert relations.facts.elapsed_ns == S - 1
        assert relations.rows("SELECT count(*) FROM block_requests") == [(0,)]
    early = Narrowed(since_ns=T0, until_ns=T0 + 1)
    with Relations.of(machine, narrowed=early) as relations:
        assert relations.rows("SELECT count(*) FROM block_requests") == [(3,)]


def test_the_answer_for_a_machine_says_who_suffers(machine: Recording) -> None:
    (machine.path / "manifest.json").write_text(machine.manifest.as_json())
    done = invoke(["why", str(machine.path)])
    assert done.exception is None
    told = done.stdout[done.stdout.index("Who suffers") :].splitlines()
    assert told[2].split() == [
        "=reads()",
        "(10)",
        "400",
        "ms",
        "waiting",
        "to",
        "read",
        "direct_io",
        "vda",
        "22",
        "%",
        "noise",
        "(20)",
        "67",
        "%",
    ]
    assert any(line.strip().startswith("backup.service") for line in told)
    assert not any(
        "Who suffers" in one for one in [invoke(["why", str(machine.path), "-p", "10"]).stdout]
    )
