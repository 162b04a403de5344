"""The link "in whose code": which path is named, and when none is."""

import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest

from iowhy.expect import outcomes, read_expectation
from iowhy.recordings import Recording
from iowhy.relations import Relations
from iowhy.whys import classes
from iowhy.whys.facts import Facts
from iowhy.whys.finding import Claim
from iowhy.whys.in_whose_code import heaviest_path, in_whose_code
from tests.reports.conftest import Make, call
from tests.reports.test_async_operations import operation
from tests.stacks.conftest import MODULES, MS, T0, frames, sample, spent, wait

SYNC = (Claim(frozenset({classes.SYNC})),)
STACKS = {
    1: ("fsync", "commit", "step", "main", "_start"),
    2: ("fsync", "log", "step", "main", "_start"),
    3: ("fsync", "log", "flush", "main", "_start"),
    4: ("crunch", "step", "main", "_start"),
}


def recorded(make: Make, samples: Iterable[dict[str, object]], **more: object) -> Recording:
    tables: dict[str, object] = {
        "thread_time": [spent(0, 1000 * MS, user=300 * MS, blocked=600 * MS)],
        "waits": [wait(100 * MS, 600 * MS, "journal_commit", syscall="fsync")],
        "modules": MODULES,
        "user_stacks": frames(STACKS),
        "stack_samples": list(samples),
    }
    return make(tables | more)


def said(rec: Recording, claims: tuple[Claim, ...] = SYNC) -> list[str]:
    with Facts(rec) as facts:
        return [link.statement for link in in_whose_code(facts, claims)]


def test_the_path_with_most_of_the_time_is_named(make: Make) -> None:
    rec = recorded(make, [sample(1 * MS, 400 * MS, 1), sample(2 * MS, 200 * MS, 3)])
    assert said(rec) == [
        "called by fsync (fsync.c:40) ← commit ← step ← main (sampled, 67 % of that time)"
    ]
    with Facts(rec) as facts:
        (link,) = in_whose_code(facts, SYNC)
    assert link.value == pytest.approx(2 / 3)
    assert [frame.name for frame in link.frames] == ["fsync", "commit", "step", "main", "_start"]
    assert (link.frames[1].file, link.frames[1].line) == ("/src/commit.c", 41)


def test_where_paths_part_the_call_above_them_is_named(make: Make) -> None:
    rec = recorded(
        make,
        [sample(1 * MS, 190 * MS, 1), sample(2 * MS, 190 * MS, 2), sample(3 * MS, 150 * MS, 3)],
    )
    assert said(rec) == ["called by step (step.c:42) ← main (sampled, 63 % of that time)"]


def test_of_operations_those_are_named_who_submit_them(make: Make) -> None:
    """Who collects the results is a loop for all of them; only if most of the time is a wait for operations."""
    submits = [
        sample(1 * MS, MS, 1, syscall="io_submit", calls=60),
        sample(2 * MS, MS, 2, syscall="io_submit", calls=40),
    ]
    collects = sample(
        3 * MS, 600 * MS, 4, syscall="io_getevents", blocked_ns=0, sleeping_ns=600 * MS
    )
    sync = operation(
        0, 600 * MS, "fsync", kind="sync", api="libaio", bytes=None, moved_bytes=None, ret=0
    )
    waits = call(0, 600 * MS, "io_getevents", sleeping_ns=600 * MS, ino=None, dev=None, ret=1) | {
        "ring": 1
    }
    asleep = [spent(0, 1000 * MS, user=300 * MS, sleeping=700 * MS)]
    more: dict[str, object] = {
        "thread_time": asleep,
        "waits": [],
        "syscalls": [waits],
        "async_operations": [sync],
    }
    assert said(recorded(make, [*submits, collects], **more)) == [
        "submitted by fsync (fsync.c:40) ← commit ← step ← main (sampled, 60 % of the submissions)"
    ]
    assert said(recorded(make, [*submits, sample(3 * MS, 600 * MS, 3)])) == [
        "called by fsync (fsync.c:40) ← log ← flush ← main (sampled, 100 % of that time)"
    ]


def test_of_sleep_it_is_the_code_of_who_sets_the_pace(make: Make) -> None:
    """A shell waits for a program that sleeps; both do so all the time."""
    processes = ((10, None, "sh", "wait4"), (20, 10, "limiter", "pselect6"))
    tables: dict[str, object] = {
        "waits": [],
        "thread_time": [
            spent(0, 1000 * MS, 10, user=9 * MS),
            spent(0, 1000 * MS, 20, user=MS) | {"tgid": 20},
        ],
        "threads": [
            {"tid": tid, "tgid": tid, "ppid": parent, "comm": comm, "start_ns": T0}
            for tid, parent, comm, _ in processes
        ],
        "syscall_totals": [
            {
                "ts_ns": T0,
                "interval_ns": 1000 * MS,
                "tgid": tid,
                "tid": tid,
                "name": name,
                "calls": 9,
                "errors": 0,
                "total_ns": 990 * MS,
            }
            for tid, _, _, name in processes
        ],
    }
    asleep = {"blocked_ns": 0, "sleeping_ns": 900 * MS}
    waits = sample(MS, 900 * MS, 1, syscall="wait4", **asleep)
    limits = sample(2 * MS, 300 * MS, 4, syscall="pselect6", tgid=20, tid=20, **asleep)
    idle = (Claim(frozenset({classes.IDLE})),)
    assert said(recorded(make, [waits, limits], **tables), idle) == [
        "called by crunch (crunch.c:40) ← step ← main (sampled, 100 % of that time)"
    ]
    # The path of a thread that waits for it is not its own.
    assert said(recorded(make, [waits], **tables), idle) == []


@pytest.mark.parametrize(("weight_ns", "named"), [(200 * MS, True), (199 * MS, False)])
def test_of_less_than_a_third_none_is_named(make: Make, weight_ns: int, named: bool) -> None:
    """What was not sampled may be of any other code: it counts in the whole."""
    assert bool(said(recorded(make, [sample(1 * MS, weight_ns, 1)]))) is named


def test_stacks_of_another_class_or_call_say_nothing_of_it(make: Make) -> None:
    computing = [sample(1 * MS, 300 * MS, 4, "cpu"), sample(2 * MS, 900 * MS, 1, syscall="write")]
    rec = recorded(make, computing)
    assert said(rec) == []
    assert said(rec, (Claim(frozenset({classes.USER})),)) == [
        "in crunch (crunch.c:40) ← step ← main (sampled, 100 % of that time)"
    ]
    only = (Claim(frozenset({classes.SYNC}), calls=frozenset({"fdatasync"})),)
    assert said(recorded(make, [sample(1 * MS, 600 * MS, 1)]), only) == []


@pytest.mark.parametrize(
    ("functions", "words"),
    [
        (  # Go
            ("syscall.Syscall", "internal/poll.(*FD).Fsync.func1", "internal/poll.ignoringEINTR", "internal/poll.(*FD).Fsync",
             "os.(*File).Sync", "main.save", "main.main", "runtime.main", "runtime.goexit"),
            "os.(*File).Sync (app) ← main.save (main.save.c:45) ← main.main",
        ),
        (  # Rust, whose main is called by one in C
            ("<std::sys::fs::unix::File>::fsync", "std::sys::pal::unix::cvt_r::<i32>", "<std::fs::File>::sync_all", "app::save",
             "<&dyn core::ops::Fn<()> as core::ops::FnOnce<()>>::call_once", "<app::Store as core::iter::Iterator>::next", "app::main",
             "core::ops::FnOnce::call_once", "std::rt::lang_start::{closure#0}", "std::panic::catch_unwind", "main", "_start"),
            "<std::fs::File>::sync_all (app) ← app::save (app::save.c:43) ← "
            "<&dyn core::ops::Fn<()> as core::ops::FnOnce<()>>::call_once ← <app::Store as core::iter::Iterator>::next ← app::main ← …",
        ),
        # C++
        (("fsync", "std::_Function_handler<void ()>::_M_invoke", "std::function<void ()>::operator()", "commit", "main"),
         "fsync (fsync.c:40) ← std::function<void ()>::operator() ← commit ← main"),
        # A program's own package or function that begins as one of a library does.
        (("stdio_flush", "core_dump", "osquery.Run", "netbird/x.Sync", "main"),
         "stdio_flush (stdio_flush.c:40) ← core_dump ← osquery.Run ← netbird/x.Sync ← main"),
        # Nothing is the program's own.
        (("runtime.futexsleep", "runtime.notesleep", "runtime.mstart"),
         "runtime.futexsleep (runtime.futexsleep.c:40) ← runtime.notesleep ← runtime.mstart"),
    ],
)  # fmt: skip
def test_of_a_languages_own_functions_the_one_that_the_program_calls_is_named(
    make: Make, functions: tuple[str, ...], words: str
) -> None:
    rec = recorded(make, [sample(1 * MS, 600 * MS, 9)], user_stacks=frames({9: functions}))
    assert said(rec) == [f"called by {words} (sampled, 100 % of that time)"]


def test_without_names_it_is_the_file_and_the_address(make: Make) -> None:
    rec = recorded(make, [sample(1 * MS, 600 * MS, 9)], user_stacks=frames({9: (None, None)}))
    assert said(rec) == ["called by app+0x1000 ← app+0x1010 (sampled, 100 % of that time)"]


def test_without_stacks_nothing_is_said(make: Make) -> None:
    rec = recorded(make, [])
    assert said(rec) == []
    with Relations(recorded(make, [sample(1 * MS, 600 * MS, None)])) as relations:
        assert heaviest_path(relations, SYNC) is None


def test_the_c_librarys_part_of_a_call_is_left_out(make: Make) -> None:
    of_libc = [
        row | {"module_id": 2, "file": None, "line": None} if row["depth"] == 0 else row
        for row in frames(STACKS)
    ]
    libc = {"module_id": 2, "path": "/usr/lib/x86_64-linux-gnu/libc.so.6", "kind": "file"}
    rec = recorded(
        make, [sample(1 * MS, 600 * MS, 1)], user_stacks=of_libc, modules=[*MODULES, libc]
    )
    assert said(rec) == [
        "called by commit (commit.c:41) ← step ← main (sampled, 100 % of that time)"
    ]


@pytest.mark.parametrize(
    ("module", "told"),
    [
        ("/usr/bin/node", "JavaScript program have no names here: run `node --perf-basic-prof`"),
        (
            "/usr/share/dotnet/shared/libcoreclr.so",
            ".NET program have no names here: set DOTNET_PerfMapEnabled=1",
        ),
        ("/usr/bin/perl", "Perl program have no names here: perl cannot write"),
        ("/usr/sbin/php-fpm8.2", "PHP program have no names here: php cannot write"),
        ("/usr/lib/apache2/modules/libphp8.2.so", "PHP program have no names here"),
        ("/usr/bin/perlbal", None),
        ("/usr/bin/phpdbg-like", None),
    ],
)
def test_each_interpreter_is_known_by_its_file(make: Make, module: str, told: str | None) -> None:
    of = {"module_id": 1, "path": module, "kind": "file"}
    rows = frames({1: ("fsync", "evaluate", "main")})
    links = said(recorded(make, [sample(1 * MS, 600 * MS, 1)], user_stacks=rows, modules=[of]))[1:]
    assert [one for one in links if told is None or f"the functions of the {told}" not in one] == []
    assert len(links) == (told is not None)


#: What an interpreter that is here is given behind the words that are offered, so that it ends at once; Debian 12's Python is too old.
ENDS = {"java": ("libjvm.so", ["-version"]), "node": ("node", ["-e", "0"])}


@pytest.mark.parametrize("program", [one for one in ENDS if shutil.which(one)])
def test_an_interpreter_takes_the_options_that_are_offered(
    make: Make, program: str, tmp_path: Path
) -> None:
    module, ends = ENDS[program]
    of = {"module_id": 1, "path": f"/usr/lib/{module}", "kind": "file"}
    rows = frames({1: ("fsync", "evaluate", "main")})
    (link,) = said(recorded(make, [sample(1 * MS, 600 * MS, 1)], user_stacks=rows, modules=[of]))[
        1:
    ]
    words = link.split("`")[1].split()
    assert words[0] == program
    with subprocess.Popen([*words, *ends], cwd=tmp_path, stderr=subprocess.DEVNULL) as started:
        assert started.wait() == 0
    Path(f"/tmp/perf-{started.pid}.map").unlink(missing_ok=True)


@pytest.mark.parametrize("mapped", [False, True])
def test_an_interpreter_without_a_map_says_how_to_see_the_script(make: Make, mapped: bool) -> None:
    python = {"module_id": 1, "path": "/usr/bin/python3.11", "kind": "file"}
    jit = {"module_id": 2, "path": None, "kind": "jit", "tgid": 10}
    rows = frames({1: ("fsync", "_PyEval_EvalFrameDefault", "main")})
    if mapped:
        rows[1] |= {"module_id": 2, "function": "py::save:/app.py"}
    rec = recorded(make, [sample(1 * MS, 600 * MS, 1)], user_stacks=rows, modules=[python, jit])
    told = said(rec)[1:]
    way = "run `python3 -X perf`, CPython 3.12 or later"
    assert told == (
        [] if mapped else [f"the functions of the Python program have no names here: {way}"]
    )


def test_of_a_script_whose_functions_have_names_the_interpreters_are_left_out(make: Make) -> None:
    libc = {"module_id": 1, "path": "/usr/lib/libc.so.6", "kind": "file"}
    python = {"module_id": 2, "path": "/usr/lib/libpython3.12.so.1.0", "kind": "file"}
    jit = {"module_id": 3, "path": None, "kind": "jit", "tgid": 10}
    names = (
        "fsync",
        "os_fsync",
        "_PyEval_EvalFrameDefault",
        "py::save:/app.py",
        "_PyEval_Vector",
        "py::main:/app.py",
        "main",
    )
    rows = frames({1: names})
    for row, name in zip(rows, names, strict=True):
        of = 1 if name == "fsync" else 3 if name.startswith("py::") else 2
        row |= {"module_id": of, "file": None, "line": None}
    rec = recorded(
        make, [sample(1 * MS, 600 * MS, 1)], user_stacks=rows, modules=[libc, python, jit]
    )
    assert said(rec) == [
        "called by py::save:/app.py ← py::main:/app.py (sampled, 100 % of that time)"
    ]
    with Facts(rec) as facts:
        (link,) = in_whose_code(facts, SYNC)
    assert [frame.name for frame in link.frames] == list(names[1:])


def test_a_broken_expectation_names_who_makes_the_calls(make: Make) -> None:
    calls = [call(at * 10 * MS, MS, "fsync") for at in range(20)]
    samples = [sample(1 * MS, 15 * MS, 1, calls=15), sample(2 * MS, 5 * MS, 3, calls=5)]
    expected = [read_expectation("--expect", "sync_calls <= 10")]
    (with_path,) = outcomes(recorded(make, samples, syscalls=calls), None, expected)
    assert with_path.sentence == (
        "expected sync_calls <= 10, found 20, all by fsync, "
        "75 % of them called by fsync (fsync.c:40) ← commit ← step ← main"
    )
    (without,) = outcomes(recorded(make, [], syscalls=calls), None, expected)
    assert without.path is None and "called by" not in without.sentence
