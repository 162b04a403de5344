"""Time of stacks: known answers, near misses, and that it always adds up to the budget."""

import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from benchmarks.generated import generate
from iowhy.recordings import Recording
from iowhy.relations import Relations
from iowhy.reports import Filters, run
from tests.examples import costly
from tests.reports.conftest import Make, call
from tests.stacks.conftest import MODULES, MS, T0, file, frames, sample, spent, wait, with_tables

STACKS = frames({1: ("fsync", "commit", "main"), 2: ("fsync", "log", "main"), 3: ("work", "main")})


def by_path(rec: Recording, filters: Filters | None = None) -> dict[str, dict[str, object]]:
    return {str(row["path"]): row for row in run(rec, "callers", filters).to_pylist()}


def made(make: Make, **more: object) -> Recording:
    tables: dict[str, object] = {
        "thread_time": [spent(0, 1000 * MS, user=200 * MS, kernel=100 * MS, blocked=600 * MS)],
        "waits": [
            wait(100 * MS, 500 * MS, "journal_commit", syscall="fsync"),
            wait(700 * MS, 100 * MS, "page_read", syscall="pread64", ino=3),
        ],
        "modules": MODULES,
        "user_stacks": STACKS,
        "files": [file(2, "/data/a.db"), file(3, "/data/b.log")],
    }
    return make(tables | more)


def test_a_class_is_divided_by_the_time_that_stacks_stand_for(make: Make) -> None:
    rec = made(
        make,
        stack_samples=[
            sample(200 * MS, 200 * MS, 1),
            sample(600 * MS, 300 * MS, 2),
            sample(800 * MS, 40 * MS, 1, syscall="pread64", ino=3, calls=7, transferred_bytes=99),
            sample(50 * MS, 150 * MS, 3, "cpu"),
            sample(60 * MS, 50 * MS, 3, "cpu", stack_id=5),
        ],
    )
    rows = by_path(rec)
    assert rows["fsync ← commit ← main"]["sync_ns"] == 200 * MS
    assert rows["fsync ← log ← main"]["sync_ns"] == 300 * MS
    # Samples of 40 ms say nothing of the other 60.
    assert rows["fsync ← commit ← main"]["read_ns"] == 40 * MS
    assert rows["not sampled"]["read_ns"] == 60 * MS
    assert (rows["work ← main"]["user_ns"], rows["work ← main"]["kernel_ns"]) == (150 * MS, 50 * MS)
    assert (rows["not sampled"]["user_ns"], rows["not sampled"]["kernel_ns"]) == (50 * MS, 50 * MS)
    assert rows["not sampled"]["idle_ns"] == 100 * MS and rows["not sampled"]["sync_ns"] == 0
    assert rows["fsync ← commit ← main"]["calls"] == 8
    assert rows["fsync ← commit ← main"]["transferred_bytes"] == 99
    assert rows["not sampled"]["calls"] is None and rows["not sampled"]["samples"] == 0


def test_more_weight_than_waits_gives_no_stack_more_than_there_is(make: Make) -> None:
    rec = made(make, stack_samples=[sample(1 * MS, 2000 * MS, 1), sample(2 * MS, 2000 * MS, None)])
    rows = by_path(rec)
    assert rows["fsync ← commit ← main"]["sync_ns"] == 250 * MS
    assert rows["stack not read"]["sync_ns"] == 250 * MS
    assert rows["not sampled"]["sync_ns"] == 0 and rows["not sampled"]["read_ns"] == 100 * MS


def test_what_a_sample_stands_for_beyond_its_thread_is_of_threads_that_have_none(
    make: Make,
) -> None:
    """Ten threads of one short call each, of which one in five has a point: it stands for the others."""
    threads = range(20, 30)
    rec = make(
        {
            "thread_time": [
                spent(0, 1000 * MS, tid=tid, tgid=10, blocked=10 * MS) for tid in threads
            ],
            "waits": [
                wait(100 * MS, 10 * MS, "journal_commit", syscall="fsync", tid=tid, tgid=10)
                for tid in threads
            ],
            "modules": MODULES,
            "user_stacks": STACKS,
            "files": [file(2, "/data/a.db")],
            "stack_samples": [
                sample(200 * MS, 60 * MS, 1, tid=20),
                sample(200 * MS, 30 * MS, 2, tid=25),
                # Of another call: nothing of these is its.
                sample(200 * MS, 500 * MS, 3, tid=25, syscall="pread64"),
            ],
        }
    )
    rows = by_path(rec)
    assert rows["fsync ← commit ← main"]["sync_ns"] == 60 * MS
    assert rows["fsync ← log ← main"]["sync_ns"] == 30 * MS
    assert rows["not sampled"]["sync_ns"] == 10 * MS
    assert rows["work ← main"]["time_ns"] == 0


def test_who_reads_this_file_is_one_question(make: Make) -> None:
    rec = made(
        make,
        stack_samples=[
            sample(200 * MS, 500 * MS, 2),
            sample(800 * MS, 100 * MS, 1, syscall="pread64", ino=3),
        ],
    )
    rows = by_path(rec, Filters(file="*.log"))
    assert list(rows) == ["fsync ← commit ← main"]
    assert rows["fsync ← commit ← main"]["read_ns"] == 100 * MS
    assert "not sampled" not in by_path(rec, Filters(since="500ms"))


def test_sleep_for_a_pipe_takes_nothing_of_the_wait_for_a_file_by_the_same_call(make: Make) -> None:
    rec = make(
        {
            "thread_time": [spent(0, 1000 * MS, blocked=100 * MS)],
            "waits": [wait(100 * MS, 100 * MS, "page_read", syscall="read")],
            "syscalls": [
                call(300 * MS, 600 * MS, "read", ino=9, blocked_ns=0, sleeping_ns=600 * MS)
            ],
            "files": [file(2, "/data/a.db"), file(9, "pipe:[9]", "pipe")],
            "modules": MODULES,
            "user_stacks": STACKS,
            "stack_samples": [
                sample(200 * MS, 100 * MS, 1, syscall="read"),
                sample(
                    900 * MS, 600 * MS, 2, syscall="read", ino=9, blocked_ns=0, sleeping_ns=600 * MS
                ),
            ],
        }
    )
    rows = by_path(rec)
    assert rows["fsync ← commit ← main"]["read_ns"] == 100 * MS
    assert (rows["fsync ← log ← main"]["read_ns"], rows["fsync ← log ← main"]["idle_ns"]) == (
        0,
        600 * MS,
    )


def test_functions_count_themselves_once(make: Make) -> None:
    rec = made(
        make,
        user_stacks=frames(
            {1: ("fsync", "walk", "walk", "walk", "main"), 2: (None, "walk", "main")}
        ),
        stack_samples=[sample(200 * MS, 100 * MS, 1), sample(300 * MS, 400 * MS, 2)],
    )
    found = {
        (row["function"], row["class"]): (row["self_ns"], row["total_ns"])
        for row in run(rec, "functions").to_pylist()
        if row["class"] == "waiting for sync"
    }
    sync = "waiting for sync"
    assert found == {
        ("main", sync): (0, 500 * MS),
        ("walk", sync): (0, 500 * MS),
        ("app+0x1000", sync): (400 * MS, 400 * MS),
        ("fsync", sync): (100 * MS, 100 * MS),
    }
    assert "fsync ← walk ×3 ← main" in by_path(rec)


def test_without_stacks_nothing_is_said_to_be_sampled(make: Make) -> None:
    rows = by_path(made(make))
    assert list(rows) == ["not sampled"]
    assert rows["not sampled"]["sync_ns"] == 500 * MS


#: Whatever one may say: of another thread, of a call that was not made, far too much weight.
SAMPLE = st.builds(
    lambda at, weight, tid, kind, call, stack, parts, place: {
        "ts_ns": T0 + at,
        "tgid": tid,
        "tid": tid,
        "kind": kind,
        "syscall": call if kind == "call" else None,
        "user_stack_id": stack,
        "stack_id": 1 if parts % 2 else None,
        "whole": True,
        "weight_ns": weight,
        "cpu_ns": None if kind != "call" else weight // parts,
        "runnable_ns": None if kind != "call" or parts > 5 else 0,
        "blocked_ns": None if kind != "call" or parts > 4 else weight - weight // parts,
        "sleeping_ns": None if kind != "call" else weight // 3,
        "dev": place and 1,
        "ino": place,
    },
    st.integers(0, 10**10),
    st.integers(1, 10**10),
    st.integers(98, 106),
    st.sampled_from(("call", "wait", "cpu")),
    st.sampled_from(("fsync", "pread64", "read", "pwrite64", "futex")),
    st.none() | st.integers(1, 3),
    st.integers(1, 7),
    st.none() | st.integers(1, 9),
)


@costly(3)
@given(data=st.data(), seed=st.integers(0, 1000))
def test_stacks_and_what_was_not_sampled_are_the_budget(data: st.DataObject, seed: int) -> None:
    """Whatever the samples say: other threads, calls that were not made, far too much weight."""
    samples = data.draw(st.lists(SAMPLE, min_size=1, max_size=60))
    with tempfile.TemporaryDirectory() as folder:
        base = generate(Path(folder) / "base.iowhy", calls=300, seed=seed, files=6, threads=4)
        rec = with_tables(
            base, {"stack_samples": samples, "user_stacks": STACKS, "modules": MODULES}
        )
        with Relations(rec) as relations:
            budget = dict(
                relations.rows(
                    "SELECT c.key, sum(p.thread_ns) FROM budget_pieces p JOIN budget_classes c "
                    "ON c.class = p.class GROUP BY c.key"
                )
            )
            divided = dict(
                relations.rows("SELECT class, sum(class_ns) FROM sample_times GROUP BY class")
            )
            ((least,),) = relations.rows("SELECT min(class_ns) FROM sample_times")
            by_stack = relations.rows(
                "SELECT user_stack_id, syscall, class, class_ns FROM stack_times"
            )
            by_sample = relations.rows(
                "SELECT user_stack_id, syscall, class, sum(class_ns) FROM sample_times "
                "WHERE kind IS NOT NULL GROUP BY user_stack_id, syscall, class"
            )
        own = {str(row["path"]): row for row in run(rec, "callers").to_pylist()}
        selves = run(rec, "functions").to_pylist()
    assert divided == {name: ns for name, ns in budget.items() if ns}
    assert least > 0
    together = {tuple(key): ns for *key, ns in by_stack if ns}
    assert len(by_stack) == len({tuple(key) for *key, _ in by_stack})
    for *key, ns in by_sample:
        # Rounded once, and not each.
        assert -1 <= together.pop(tuple(key)) - ns <= 2 * len(samples)
    assert sum(together.values()) <= 2 * len(samples)
    for name, ns in budget.items():
        assert sum(row[f"{name}_ns"] for row in own.values()) == ns
    assert sum(row["self_ns"] for row in selves) == sum(budget.values())
