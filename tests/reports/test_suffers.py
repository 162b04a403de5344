"""Who suffers and who causes it; containers; one process of a machine as if it alone had been watched."""

import pytest
from msgspec.structs import replace

from iowhy.commands.overview import overview_of
from iowhy.recordings import Recording
from iowhy.relations import Relations
from iowhy.relations.narrowed import Narrowed
from iowhy.reports import Filters, run
from iowhy.whys import classes
from iowhy.whys.facts.culprits import most_loading
from tests.command_line import invoke
from tests.problems import wrong
from tests.reports.conftest import MS, T0, Make, S, request, spent, wait
from tests.reports.in_files import make

__all__ = ["make"]

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
    assert (reads["comm"], reads["container"], reads["waited_ns"]) == (
        "=reads()",
        "prod/web-0/web",
        400 * MS,
    )
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
    assert set(rows) == {"prod/web-0/web", "backup.service", None}
    web = rows["prod/web-0/web"]
    assert (web["pod"], web["image"], web["container_id"]) == ("prod/web-0", "nginx:1", "c1")
    for name in ("backup.service", None):
        assert rows[name]["pod"] is rows[name]["image"] is None
    assert (web["waited_ns"], web["mostly"]) == (400 * MS, "waiting to read")
    assert (rows[None]["processes"], rows[None]["waited_ns"]) == (2, 200 * MS)
    processes = run(machine, "processes").to_pylist()
    for column in ("requests", "request_ns", "read_bytes", "cpu_ns", "waited_ns", "dirtied_pages"):
        assert sum(row[column] or 0 for row in rows.values()) == sum(
            row[column] or 0 for row in processes
        )


def test_a_container_is_its_id_whatever_its_name(make: Make) -> None:
    """Two pods and a restarted one with a container `app` each; two without a pod."""
    named = [
        ("a1", "app", "prod", "db"), ("b2", "app", "ops", "backup"), ("c3", "app", "ops", "backup"),
        ("d4", "app", None, None), ("e5", "app", None, None), ("f6", None, "ops", "backup"),
    ]  # fmt: skip
    rec = make(
        {
            "threads": [
                {"tid": at, "tgid": at, "comm": "sh", "start_ns": T0, "container": one[0]}
                for at, one in enumerate(named, 11)
            ],
            "containers": [
                {"id": id_, "name": name, "pod_namespace": space, "pod": pod, "cgroup": f"/{id_}"}
                for id_, name, space, pod in named
            ],
            "block_requests": [
                request(0, MS, "read", tgid=at, tid=at, bytes=at * 4096) for at in range(11, 17)
            ],
            "syscalls": [],
        }
    )
    read = {
        row["container"]: row["read_bytes"] // 4096 for row in run(rec, "containers").to_pylist()
    }
    assert read == {
        "prod/db/app": 11, "ops/backup/app (b2)": 12, "ops/backup/app (c3)": 13, "app (d4)": 14, "app (e5)": 15,
        "ops/backup/f6": 16,
    }  # fmt: skip
    processes = {row["tgid"]: row["container"] for row in run(rec, "processes").to_pylist()}
    assert (processes[11], processes[14]) == ("prod/db/app", "app (d4)")

    def chosen(container: str) -> list[int]:
        rows = run(rec, "threads", Filters(container=container)).to_pylist()
        return sorted(row["tgid"] for row in rows)

    assert (chosen("prod/db/app"), chosen("b2"), chosen("ops/backup/app")) == ([11], [12], [12, 13])
    assert chosen("app") == [11, 12, 13, 14, 15]


def load(tgid: int, ms: int, **more: object) -> dict[str, object]:
    """Requests of another process on the disk."""
    more = {
        "in_scope": True,
        "tgid": tgid,
        "tid": tgid,
        "owner_dev": None,
        "owner_ino": None,
    } | more
    return request(0, ms * MS, "read", dev=7, **more)


@pytest.mark.parametrize(
    ("others", "culprit"),
    [
        # 19 of 1 ms each in one container, against a larger process elsewhere.
        ([*[("dd", "c1", 1)] * 19, ("cp", "", 8)], ("noisy", "dd", 19, 19)),
        # The same: the process alone holds more.
        ([*[("dd", "c1", 1)] * 19, ("cp", "", 20)], (None, "cp", 1, 20)),
        # A service and a session; programs in none.
        ([("dd", "a.service", 5), ("cp", "a.service", 6), ("tar", "", 10)], ("a.service", "cp", 2, 11)),
        ([("dd", "session-3.scope", 5), ("cp", "session-3.scope", 6), ("tar", "", 10)], ("session-3.scope", "cp", 2, 11)),
        ([("dd", "", 6), ("dd", "", 6), ("tar", "", 10)], (None, "dd", 2, 12)),
        # A program in two containers is two groups, and one without a name is a process.
        ([("dd", "c1", 6), ("dd", "c2", 6), ("tar", "", 10)], (None, "tar", 1, 10)),
        ([(None, "", 6), (None, "", 6), ("tar", "", 5)], (None, None, 1, 6)),
        # Its own container holds most, without itself; and does not.
        ([("dd", "own", 6), ("dd", "own", 6), ("tar", "", 10)], ("own", "dd", 2, 12)),
        ([("dd", "own", 9), ("tar", "", 10)], (None, "tar", 1, 10)),
        # Titles of one program; one title.
        ([("pg: checkpointer", "", 7), ("pg: walwriter", "", 6), ("tar", "", 10)], ("pg", "pg: checkpointer", 2, 13)),
        ([("pg: checkpointer", "", 11), ("tar", "", 10)], (None, "pg: checkpointer", 1, 11)),
        ([("pg: app", "", 6), ("pg: app", "", 6), ("tar", "", 10)], (None, "pg: app", 2, 12)),
    ],
)  # fmt: skip
def test_who_causes_it_is_the_group_that_holds_most(
    make: Make,
    others: list[tuple[str | None, str, int]],
    culprit: tuple[str | None, str | None, int, int],
) -> None:
    """In `suffers` of the machine, in the verdict of a command and in `devices` it is the same one."""
    units = ("a.service", "session-3.scope")
    beside = [
        {
            "tgid": at,
            "comm": comm and comm.split(":")[0],
            "title": comm if ": " in str(comm) else None,
            "container": group,
        }
        for at, (comm, group, _) in enumerate(others, 100)
        if comm is not None or group
    ]
    mine = {"tid": 10, "tgid": 10, "comm": "web", "start_ns": T0, "container": "own"}
    tables: dict[str, list[dict[str, object]]] = {
        "neighbours": beside,
        "containers": [
            {"id": "c1", "name": "noisy", "cgroup": "/a"}, {"id": "own", "name": "own", "cgroup": "/o"},
            *({"id": one, "name": one, "runtime": "systemd", "cgroup": one} for one in units),
        ],
        "devices": [{"dev": 7, "name": "vda", "size_bytes": 1 << 40}],
        "thread_time": [spent(0, S, tid=10, blocked=400 * MS)],
        "threads": [mine],
        "waits": [wait(0, 400 * MS, "direct_io")],
        "syscalls": [],
    }  # fmt: skip
    container, comm, processes, ms = culprit
    loads = [load(at, took) for at, (_, _, took) in enumerate(others, 100)]
    own = load(10, 100)
    machine = make(tables | {"block_requests": [own, *loads]})
    (row,) = run(machine, "suffers").to_pylist()
    whole = 100 + sum(took for _, _, took in others)
    assert (row["other_container"], row["other_comm"], row["other_processes"]) == culprit[:3]
    assert row["other_share"] == pytest.approx(ms / whole)
    command = make(
        tables | {"block_requests": [own, *(one | {"in_scope": False} for one in loads)]}
    )
    with Relations(command) as relations:
        (found,) = relations.rows(
            "SELECT container, comm, processes, load FROM competing_load WHERE dev = 7 AND place = 1"
        )
        said = most_loading(relations, "requests", 7)
    assert found == (container, comm, processes, ms * MS)
    assert said is not None and said.tgid == row["other_tgid"]
    (device,) = run(command, "devices").to_pylist()
    assert device["others_most"].startswith(container or comm or f"process {row['other_tgid']}")


def test_of_one_process_the_others_are_others(machine: Recording) -> None:
    with Relations(machine, narrowed=Narrowed(pids=(10,))) as relations:
        whose = relations.rows("SELECT tgid, whose FROM counted_requests ORDER BY tgid")
        assert whose == [(10, "command"), (20, "others"), (77, "others")]
        assert relations.rows("SELECT DISTINCT tgid FROM thread_time") == [(10,)]
        assert relations.rows("SELECT tgid FROM neighbours ORDER BY 1") == [(20,), (30,), (77,)]
        dirtied = "SELECT tgid, pages FROM dirtied_by_others ORDER BY tgid"
        assert relations.rows(dirtied) == [(20, 30), (30, 10)]
    assert overview_of(machine, (10,)).verdict.budget.elapsed(classes.READ) == pytest.approx(0.4)
    for pid, id_ in ((77, "pid-from-outside"), (5, "pid-did-nothing")):
        with wrong(id_, pid=pid):
            overview_of(machine, (pid,))


def test_a_stretch_of_time_has_its_rows_and_its_length(machine: Recording) -> None:
    with Relations(machine, narrowed=Narrowed(since_ns=T0 + 1)) as relations:
        assert relations.facts.elapsed_ns == S - 1
        assert relations.rows("SELECT count(*) FROM block_requests") == [(0,)]
        # Of time of threads it is the part: the states sum to it.
        states = "cpu_user_ns + runnable_ns + blocked_ns + sleeping_ns"
        rows = relations.rows(
            f"SELECT interval_ns, {states}, blocked_ns FROM thread_time WHERE tid = 10"
        )
        assert rows == [(S - 1, S - 1, 400 * MS - 1)]
    early = Narrowed(since_ns=T0, until_ns=T0 + 1)
    with Relations(machine, narrowed=early) as relations:
        assert relations.rows("SELECT count(*) FROM block_requests") == [(3,)]


def test_the_answer_for_a_machine_says_who_suffers(machine: Recording) -> None:
    (machine.path / "manifest.json").write_text(machine.manifest.as_json())
    done = invoke(["why", str(machine.path)])
    assert done.exception is None
    told = done.stdout[done.stdout.index("VICTIM") :].splitlines()
    assert told[1].split() == [
        "=reads()",
        "(10)",
        "400",
        "ms",
        "waiting",
        "to",
        "read",
        "vda",
        "backup.service",
        "(20)",
        "67",
        "%",
    ]
    assert not any(
        "VICTIM" in one for one in [invoke(["why", str(machine.path), "-p", "10"]).stdout]
    )
