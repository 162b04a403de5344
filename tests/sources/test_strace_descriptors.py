"""strace: what descriptors are of decides what a call on them waits for, and flags what is durable when it returns."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iowhy.sources.diagnose import diagnose
from iowhy.sources.format import Block
from iowhy.sources.formats import strace
from iowhy.sources.names import Names
from iowhy.sources.paste import decode
from iowhy.whys.verdict import judge
from tests.examples import costly
from tests.sources.trace_reading import rows

#: How each kind of descriptor comes to be, and what it is then of: path, kind, durable. `{0}` and `{1}` are its numbers.
MADE: dict[str, tuple[str, str, str, bool | None]] = {
    "file": ('openat(AT_FDCWD, "/srv/a", O_RDWR|O_CREAT, 0644) = {0}', "/srv/a", "unknown", None),
    "durable": ('openat(AT_FDCWD, "/srv/b", O_WRONLY|O_DSYNC) = {0}', "/srv/b", "unknown", True),
    "open2": (
        'openat2(AT_FDCWD, "/srv/c", {{flags=O_RDWR|O_SYNC, resolve=0}}, 24) = {0}', "/srv/c", "unknown", True,
    ),
    "named so": ('open("/srv/O_SYNC", O_RDWR) = {0}', "/srv/O_SYNC", "unknown", None),
    "pipe": ("pipe2([{0}, {1}], O_CLOEXEC) = 0", "pipe:[?]", "pipe", None),
    "pipe, by y": ("pipe([{0}<pipe:[7]>, {1}<pipe:[7]>]) = 0", "pipe:[?]", "pipe", None),
    "socket": ("socket(AF_INET, SOCK_STREAM, IPPROTO_TCP) = {0}", "socket:[?]", "socket", None),
    "pair": ("socketpair(AF_UNIX, SOCK_STREAM, 0, [{0}, {1}]) = 0", "socket:[?]", "socket", None),
    "accepted": ("accept4(9, NULL, NULL, 0) = {0}", "socket:[?]", "socket", None),
    "eventfd": ("eventfd2(0, EFD_CLOEXEC) = {0}", "anon_inode:[?]", "anonymous", None),
}  # fmt: skip
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["make", "make", "dup", "close", "fork", "write", "write"]),
        st.integers(0, 2),  # process
        st.sampled_from(sorted(MADE)),
        st.integers(3, 9),
        st.integers(3, 9),
    ),
    max_size=40,
)


@costly(10)
@given(STEPS)
def test_a_descriptor_is_what_made_it(steps: list[tuple[str, int, str, int, int]]) -> None:
    """Whatever is opened, duplicated, inherited and closed, in whatever order: a model of the kernel's tables says the same."""
    known: list[dict[int, str]] = [{}]
    lines, expected = [], []
    for at, (step, process, kind, one, other) in enumerate(steps):
        process %= len(known)
        mine, pid = known[process], 100 + process
        line = f'write({one}, "x", 1) = 1'
        if step == "make":
            line = MADE[kind][0].format(one, other)
            mine[one] = kind
            if "{1}" in MADE[kind][0]:
                mine[other] = kind
        elif step == "dup":
            line = f"dup2({one}, {other}) = {other}"
            if one in mine:
                mine[other] = mine[one]
            else:
                mine.pop(other, None)
        elif step == "close":
            line = f"close({one}) = 0"
            mine.pop(one, None)
        elif step == "fork" and len(known) < 3:
            line = f"clone(child_stack=NULL, flags=SIGCHLD) = {100 + len(known)}"
            known.append(dict(mine))
        else:
            expected.append(None if one not in mine else MADE[mine[one]][1:])
        lines.append(f"{pid} 1700000000.{at:06d} {line} <0.000001>")
    names = Names()
    parsed = strace.read(
        Block(decode("\n".join([*lines, ""]).encode(), "test"), 1, "test", names, None)
    )
    files = {one["ino"]: (one["path"], one["kind"]) for one in names.rows()["files"]}
    found = [
        None if one["ino"] is None else (*files[one["ino"]], one["durable"])
        for one in rows(parsed, "syscalls")
        if one["name"] == "write"
    ]
    assert found == expected


def shares(log: str, folder: Path) -> dict[str, float]:
    """A log's budget: by class, the share of the elapsed time, where there is any."""
    (folder / "log.txt").write_text(log)
    verdict = judge(diagnose([str(folder / "log.txt")], folder / "log.iowhy").recording)
    return {
        one.cls: round(one.elapsed_share, 2)
        for one in verdict.budget.lines
        if one.elapsed_share > 0.005
    }


def one_call(made: str, call: str) -> str:
    return (
        f"10 1700000001.000000 {made} <0.000010>\n10 1700000001.001000 {call} <3.000000>\n"
        '10 1700000004.001000 read(8</srv/a>, "x"..., 4096) = 4096 <0.999000>\n'
        "10 1700000005.000000 +++ exited with 0 +++\n"
    )


NO_FILE = "getpid() = 10"


@pytest.mark.parametrize(
    ("made", "call", "cls"),
    [
        ("pipe2([3, 4], 0) = 0", 'read(3, "x", 1) = 1', "idle"),
        ("pipe2([3, 4], 0) = 0", 'write(4, "x", 1) = 1', "idle"),
        (NO_FILE, 'read(3<pipe:[7]>, "x", 1) = 1', "idle"),
        (NO_FILE, 'read(3<TCP:[10.0.0.1:1->10.0.0.2:2]>, "x", 1) = 1', "idle"),
        (NO_FILE, 'read(0</dev/pts/1<char 136:1>>, "x", 1) = 1', "idle"),
        (NO_FILE, 'read(0</dev/urandom<char 1:9>>, "x", 1) = 1', "on-CPU kernel"),
        # Files are read from storage, whatever their names; and so is what nobody knows of.
        (NO_FILE, 'read(3</srv/pipe:[7]>, "x", 1) = 1', "waiting to read"),
        ('openat(AT_FDCWD, "/srv/b", O_RDONLY) = 3', 'read(3, "x", 1) = 1', "waiting to read"),
        (NO_FILE, 'read(3, "x", 1) = 1', "waiting to read"),
    ],
)
def test_who_reads_from_no_file_waits_for_no_storage(
    made: str, call: str, cls: str, tmp_path: Path
) -> None:
    found = shares(one_call(made, call), tmp_path)
    if cls == "waiting to read":
        assert found == {cls: 1.0}
    else:
        assert found == {cls: 0.75, "waiting to read": 0.25}


def test_a_reader_at_a_pipe_takes_no_time_from_who_fills_it(tmp_path: Path) -> None:
    log = (
        "10 1700000001.000000 pipe2([3, 4], 0) = 0 <0.000001>\n"
        "10 1700000001.000100 clone(child_stack=NULL, flags=SIGCHLD) = 11 <0.000010>\n"
        '10 1700000001.000200 read(3, "x", 1) = 1 <3.999000>\n'
        '11 1700000001.000300 read(8</srv/a>, "x"..., 4096) = 4096 <3.990000>\n'
        "11 1700000005.000000 +++ exited with 0 +++\n10 1700000005.000000 +++ exited with 0 +++\n"
    )
    assert shares(log, tmp_path) == {"waiting to read": 1.0}


def writes(flags: str) -> str:
    return (
        f'10 1700000001.000000 openat(AT_FDCWD, "/srv/log", {flags}, 0644) = 3 <0.001000>\n'
        + "".join(
            f'10 {1700000001 + at * 0.02:.6f} write(3, "x"..., 100) = 100 <0.019000>\n'
            for at in range(1, 200)
        )
    )


@pytest.mark.parametrize(
    ("flags", "durable"), [("O_WRONLY|O_DSYNC", True), ("O_WRONLY|O_APPEND", False)]
)
def test_writes_that_flags_make_durable_are_syncs(
    flags: str, durable: bool, tmp_path: Path
) -> None:
    (tmp_path / "log.txt").write_text(writes(flags))
    verdict = judge(diagnose([str(tmp_path / "log.txt")], tmp_path / "log.iowhy").recording)
    causes = [one.cause for one in verdict.findings]
    assert ("sync-storm" in causes) == durable, verdict.answer
    if durable:
        said = " ".join(link.statement for link in verdict.findings[0].chain)
        assert "199 writes" in said and "O_SYNC" in verdict.findings[0].remedies[0], said
