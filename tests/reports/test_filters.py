"""Filters: what they choose, and the one clear error for what they cannot."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from iowhy.errors import Problem
from iowhy.recordings import Manifest, Recording
from iowhy.recordings.manifest import Clock
from iowhy.relations import RecordedFacts as Facts
from iowhy.reports import Filters, reports, run
from iowhy.reports.filters import resolve
from tests.problems import wrong
from tests.reports.conftest import MS, T0, WALL0, Make, S, call, file, filesystem, request

FACTS = Facts(T0, T0 + 100 * S, 100 * S, 2, None, 4096, frozenset())
MANIFEST = Manifest(clock=Clock(monotonic_ns=T0 - 5 * S, wall_ns=WALL0))


@pytest.mark.parametrize(
    ("text", "after_start_ns"),
    [
        ("0", 0),
        ("12", 12 * S),
        ("1.5s", 1_500 * MS),
        (".25", 250 * MS),
        ("0.123456789", 123_456_789),
        ("250ms", 250 * MS),
        ("7us", 7_000),
        ("7µs", 7_000),
        ("42ns", 42),
        ("2m", 120 * S),
        ("1h", 3600 * S),
        # WALL0 is 2023-11-14T22:13:20Z, 5 s before the start.
        ("2023-11-14T22:13:25Z", 0),
        ("2023-11-14 22:13:26.5", 1_500 * MS),
        ("2023-11-14T23:13:27+01:00", 2 * S),
        ("22:13:30", 5 * S),
        ("22:14", 35 * S),
    ],
)
def test_moments(text: str, after_start_ns: int) -> None:
    # Of two hours, so that each of them lies within it.
    facts = replace(FACTS, end_ns=T0 + 7200 * S, elapsed_ns=7200 * S)
    found = resolve(Filters(since=text), MANIFEST, facts)
    assert found.since_ns == T0 + after_start_ns


@pytest.mark.parametrize(
    ("filters", "id_", "values"),
    [
        (Filters(since="soon"), "not-a-moment", {"option": "--since", "text": "soon"}),
        (Filters(until="-1"), "not-a-moment", {"option": "--until", "text": "-1"}),
        (Filters(until="25:99"), "not-a-moment", {"option": "--until", "text": "25:99"}),
        (Filters(since="9" * 30), "longer-than-any-recording", {"option": "--since"}),
        (Filters(since="100"), "since-after-the-end", {"since": 100, "elapsed_ns": 100 * S}),
        (
            Filters(since="2", until="1"),
            "since-not-before-until",
            {"since": 2, "until": 1, "elapsed_ns": 100 * S},
        ),
        (Filters(pids=(-1,)), "pid-negative", {"pid": -1}),
        (Filters(file=""), "file-pattern-empty", {}),
        (Filters(container=" "), "container-name-empty", {}),
    ],
)
def test_bad_filters(filters: Filters, id_: str, values: dict[str, object]) -> None:
    with wrong(id_, **values):
        resolve(filters, MANIFEST, FACTS)


def test_a_time_of_day_needs_a_clock() -> None:
    for text in ("22:13:30", "2023-11-14T22:13:25Z"):
        with wrong("recording-does-not-say", option="--since", text=text):
            resolve(Filters(since=text), Manifest(), FACTS)


@given(st.text(max_size=30))
def test_any_text_is_a_moment_or_a_problem(text: str) -> None:
    try:
        found = resolve(Filters(since=text), MANIFEST, FACTS)
    except Problem as problem:
        assert "--since" in str(problem)
    else:
        assert isinstance(found.since_ns, int)


def test_a_process_that_is_not_there_is_told(make: Make) -> None:
    rec = make({"syscalls": [call(0, MS, "read", tid=11)]})
    assert run(rec, "syscalls", Filters(pids=(10,))).num_rows == 1
    with wrong("pid-not-in-recording", pid=4711):
        run(rec, "syscalls", Filters(pids=(10, 4711)))


PATHS = (
    "/srv/a.db",
    "/srv/a_db",
    "/srv/100%",
    "/srv/it's",
    "/srv/wow!",
    "/srv/ä/b.db",
    "/srv/x\\y",
)


@pytest.fixture
def named(make: Make) -> Recording:
    return make(
        {
            "files": [file(i, path) for i, path in enumerate(PATHS)],
            "syscalls": [call(i * MS, 10, "read", ino=i) for i in range(len(PATHS))],
        }
    )


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("*.db", {"/srv/a.db", "/srv/ä/b.db"}),
        ("a.db", {"/srv/a.db"}),
        ("/srv/a?db", {"/srv/a.db", "/srv/a_db"}),
        ("a_db", {"/srv/a_db"}),
        ("%", {"/srv/100%"}),
        ("it's", {"/srv/it's"}),
        ("!", {"/srv/wow!"}),
        ("x\\y", {"/srv/x\\y"}),
        ("/srv/*", set(PATHS)),
    ],
)
def test_files_by_pattern(named: Recording, pattern: str, expected: set[str]) -> None:
    assert set(run(named, "files", Filters(file=pattern)).column("path")) == expected


def test_no_file_matches(named: Recording) -> None:
    with wrong("file-not-in-recording", file="nope"):
        run(named, "files", Filters(file="nope"))


def test_begins_in_the_range(named: Recording) -> None:
    found = run(named, "syscalls", Filters(since="1ms", until="3ms"))
    assert found.column("calls") == [2]


@pytest.mark.parametrize(
    ("report", "filters"),
    [
        ("system", Filters(pids=(1,))),
        ("budget", Filters(file="a")),
        ("layout", Filters(since="1")),
        ("journal", Filters(file="a")),
    ],
)
def test_a_filter_that_cannot_be_answered_is_refused(
    make: Make, report: str, filters: Filters
) -> None:
    with wrong("filter-not-of-report", name=filters.given()[0], report=report):
        run(make({}), report, filters)


def test_every_report_runs_with_every_filter_it_takes(named: Recording) -> None:
    every = {"since": "1ms", "until": "4ms", "pids": (10,), "file": "*db"}
    for name, report in reports().items():
        taken = {
            key: value for key, value in every.items() if key.removesuffix("s") in report.filters
        }
        run(named, name, Filters(**taken))


def test_kernel_workers_writes_belong_to_the_file(make: Make) -> None:
    """--pid keeps what a kernel worker wrote for the process's files, not what another process did."""
    rec = make(
        {
            "filesystems": [filesystem()],
            "threads": [{"tid": t, "tgid": t, "comm": "x", "start_ns": T0} for t in (10, 20)],
            "syscalls": [
                call(0, MS, "write", ret=1),
                call(0, MS, "write", ret=1, tid=20, tgid=20),
                call(2 * MS, MS, "write", ret=1, tid=20, tgid=20, ino=3),
            ],
            "block_requests": [
                request(0, MS, tgid=5, tid=5),  # a kernel worker, the file of 10 and 20
                request(MS, MS, tgid=None, tid=None),
                request(2 * MS, MS, tgid=20, tid=20),
                request(3 * MS, MS, tgid=5, tid=5, owner_ino=3),
                request(4 * MS, MS, tgid=10, tid=10, owner_dev=None, owner_ino=None),
            ],
        }
    )
    (row,) = run(rec, "request-pattern", Filters(pids=(10,))).to_pylist()
    assert row["requests"] == 3


@pytest.mark.parametrize(
    ("asked", "threads"),
    [
        ("web", {11, 12}),
        ("abcd", {11, 12}),
        ("abcd0123", {11, 12}),
        ("abc", set()),
        ("ssh", {21}),
        ("ssh.service", {21}),
        ("we_", set()),
        ("x' OR true --", set()),
    ],
)
def test_a_container_is_chosen_by_name_or_id(make: Make, asked: str, threads: set[int]) -> None:
    def thread(tid: int, container: str | None) -> dict[str, object]:
        return {"tid": tid, "tgid": tid, "comm": "c", "start_ns": T0, "container": container}

    recording = make(
        {
            "threads": [
                thread(11, "abcd0123"),
                thread(12, "abcd0123"),
                thread(21, "ssh.service"),
                thread(31, ""),
                thread(41, None),
            ],
            "containers": [
                {
                    "id": "abcd0123",
                    "name": "web",
                    "runtime": "docker",
                    "cgroup": "/docker/abcd0123",
                },
                {"id": "ssh.service", "name": "ssh.service", "runtime": "systemd", "cgroup": "/s"},
            ],
        }
    )
    if threads:
        found = run(recording, "threads", Filters(container=asked))
        assert set(found.column("tid")) == threads
    else:
        with wrong("container-not-in-recording", container=asked):
            run(recording, "threads", Filters(container=asked))
    names = dict(
        zip(*(run(recording, "threads").column(c) for c in ("tid", "container")), strict=True)
    )
    assert names == {11: "web", 12: "web", 21: "ssh.service", 31: "", 41: None}
