"""The undo journal: order, ways out, recovery, and journals that must not be trusted."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iowhy.errors import Problem
from iowhy.undo import MARK_VARIABLE, MARKER_FILE, Undo, opposite_option, recover
from iowhy.undo import process as processes
from iowhy.undo.kinds import trees
from tests.examples import costly
from tests.problems import wrong


@pytest.fixture
def state(tmp_path, monkeypatch):
    path = tmp_path / "state"
    monkeypatch.setenv("IOWHY_STATE", str(path))
    path.mkdir(mode=0o700)
    return path


def header(**other):
    # pid 1 with another start time: a session that is dead for certain.
    row = {"iowhy_undo": 1, "session": "t", "pid": 1, "start_ticks": 10**15, "boot": "x"}
    return {**row, "boot": processes.boot_id(), **other}


def journal(state, *rows, cut=""):
    path = state / "dead.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows) + cut)
    path.chmod(0o600)
    return path


def marked_tree(parent, token="a" * 32):
    tree = parent / "tree"
    (tree / "inner").mkdir(parents=True)
    (tree / "inner" / "file").write_text("x")
    (tree / MARKER_FILE).write_text(token)
    return tree


def tree_entry(tree, number=1, token="a" * 32):
    return {"n": number, "kind": "remove-tree", "path": str(tree), "token": token}


def test_everything_is_written_before_it_is_done_and_gone_after(state, tmp_path):
    with Undo.session("t") as undo:
        made = undo.scratch_directory(tmp_path)
        (made / "sub").mkdir()
        lines = [json.loads(line) for line in undo.path.read_text().splitlines()]
        assert [line.get("kind") for line in lines] == [None, "remove-tree"]
        assert lines[1]["path"] == str(made)
        assert recover() == [] and made.exists()  # a living session is left alone
    assert not made.exists() and list(state.iterdir()) == []


def test_undone_in_reverse_also_after_an_exception(state, tmp_path):
    with pytest.raises(KeyError), Undo.session("t") as undo:
        outer = undo.scratch_directory(tmp_path)
        undo.scratch_directory(outer)
        raise KeyError
    assert not outer.exists() and list(state.iterdir()) == []


@pytest.mark.usefixtures("state")
def test_a_scope_undoes_its_own(tmp_path):
    with Undo.session("t") as undo:
        kept = undo.scratch_directory(tmp_path)
        with undo.scope():
            gone = undo.scratch_directory(tmp_path)
        assert kept.exists() and not gone.exists()


def test_only_a_directory_with_our_token_is_removed(state, tmp_path):
    tree = marked_tree(tmp_path, token="b" * 32)
    path = journal(state, header(), tree_entry(tree))
    with wrong("not-undone"):
        recover()
    assert (tree / "inner" / "file").exists() and path.exists()
    (tree / MARKER_FILE).write_text("a" * 32)
    recover()
    assert not tree.exists() and not path.exists()


def test_a_link_in_a_tree_is_not_followed(state, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").write_text("x")
    tree = marked_tree(tmp_path)
    (tree / "link").symlink_to(outside)
    journal(state, header(), tree_entry(tree))
    recover()
    assert (outside / "precious").exists() and not tree.exists()


def test_a_tree_that_is_swapped_while_it_is_removed_sends_us_nowhere(state, tmp_path, monkeypatch):
    """Its owner renames the directory and puts a link in its place, after it was found to be ours."""
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "inner").mkdir()
    (victim / "inner" / "precious").write_text("x")
    tree = marked_tree(tmp_path)

    def swapping(handle):
        token = read_token(handle)
        tree.rename(tmp_path / "moved")
        tree.symlink_to(victim)
        return token

    read_token = trees._token
    monkeypatch.setattr(trees, "_token", swapping)
    journal(state, header(), tree_entry(tree))
    with wrong("not-undone"):
        recover()
    assert (victim / "inner" / "precious").exists()


def test_a_tree_that_was_replaced_by_a_link_is_left(state, tmp_path):
    real = marked_tree(tmp_path)
    link = tmp_path / "link"
    link.symlink_to(real)
    journal(state, header(), tree_entry(link))
    recover()
    assert (real / "inner" / "file").exists()


@pytest.mark.usefixtures("state")
def test_processes_are_found_by_their_mark_even_when_detached():
    with Undo.session("t") as undo:
        _, mark = undo.kill_marked()
        parent = subprocess.run(
            ["sh", "-c", "setsid sleep 60 >/dev/null 2>&1 & echo $!"],
            env={**os.environ, MARK_VARIABLE: mark},
            capture_output=True,
            text=True,
            check=True,
        )
        pid = int(parent.stdout)
        assert processes.start_ticks(pid) is not None
    assert processes.is_zombie(pid)


def test_a_cut_last_line_was_never_begun(state, tmp_path):
    tree = marked_tree(tmp_path)
    journal(state, header(), tree_entry(tree), cut='{"n": 2, "kind": "umou')
    recover()
    assert not tree.exists() and list(state.iterdir()) == []


def test_a_journal_cut_in_its_header_has_done_nothing(state):
    journal(state, cut='{"iowhy_un')
    assert recover() == [] and list(state.iterdir()) == []


GOOD = {"n": 2, "kind": "kill-marked", "mark": "0" * 32}


@pytest.mark.parametrize(
    "bad",
    [
        {"n": 2, "kind": "format-disk"},
        {"n": 2, "kind": ["umount"]},
        {"n": 2, "kind": "umount", "path": "/"},
        {"n": 2, "kind": "umount", "path": "relative"},
        {"n": 2, "kind": "umount", "path": "/mnt/../etc"},
        {"n": 2, "kind": "umount", "path": "/proc"},
        {"n": 2, "kind": "umount", "path": 5},
        {"n": 2, "kind": "remove-tree", "path": "/home", "token": "a" * 32},
        {"n": 2, "kind": "remove-tree", "path": "/home/me", "token": "short"},
        {"n": 2, "kind": "write-file", "path": "/etc/passwd", "old": "x"},
        {"n": 2, "kind": "write-file", "path": "/sys/x", "old": None},
        {"n": 2, "kind": "write-file", "path": "/proc/self/root/etc/passwd", "old": "x"},
        {"n": 2, "kind": "write-file", "path": "/proc/1/cwd/etc/passwd", "old": "x"},
        {"n": 2, "kind": "write-file", "path": "/proc/sysrq-trigger", "old": "b"},
        {"n": 2, "kind": "write-file", "path": "/proc/sys/kernel/core_pattern", "old": "|/x"},
        {"n": 2, "kind": "write-file", "path": "/proc/sys/vm/dirty_ratio", "old": "20\n|/x"},
        {"n": 2, "kind": "write-file", "path": "/proc/sys/vm/dirty_ratio/../x", "old": "20"},
        {"n": 2, "kind": "write-file", "path": "/sys/block/loop0/queue/scheduler", "old": "none"},
        {"n": 2, "kind": "write-file", "path": "/sys/kernel/uevent_helper", "old": "/x"},
        {"n": 2, "kind": "rmdir-cgroup", "path": "/sys/fs/cgroup/system.slice"},
        {"n": 2, "kind": "rmdir-cgroup", "path": "/tmp/iowhy-1"},
        {"n": 2, "kind": "kill-marked", "mark": "x"},
        {"n": 2, "kind": "remount", "path": "/", "option": "ro"},
        {"n": 2, "kind": "remount", "path": "/mnt/x", "option": "ro,suid"},
        {"n": 1, "kind": "kill-marked", "mark": "0" * 32},
        {"n": "2"},
        {"undone": 9},
        {"undone": [1]},
        [1],
        None,
        7,
    ],
)
def test_a_hostile_journal_is_told_by_line_and_nothing_is_undone(state, tmp_path, bad):
    tree = marked_tree(tmp_path)
    path = journal(state, header(), tree_entry(tree), bad, {**GOOD, "n": 3})
    with pytest.raises(Problem) as caught:
        recover()
    assert f"{path} line 3: " in str(caught.value)
    assert tree.exists() and path.exists()


@pytest.mark.parametrize(
    "first", [{}, {"iowhy_undo": 2, "pid": 1, "start_ticks": 1, "boot": ""}, {"pid": 1}, []]
)
def test_what_is_no_journal_is_told(state, first):
    path = journal(state, first, GOOD)
    with pytest.raises(Problem) as caught:
        recover()
    assert f"{path} line 1: " in str(caught.value)


@costly(15)
@given(st.binary(max_size=300))
def test_any_bytes_are_a_problem_or_nothing(state, data):
    path = state / "any.jsonl"
    path.write_bytes(json.dumps(header()).encode() + b"\n" + data)
    path.chmod(0o600)
    try:
        recover()
    except Problem as problem:
        assert "any.jsonl line " in str(problem)
    path.unlink(missing_ok=True)


def test_after_a_restart_only_what_is_on_disk_is_undone(state, tmp_path):
    mark = "0" * 31 + "1"
    child = subprocess.Popen(["sleep", "60"], env={**os.environ, MARK_VARIABLE: mark})
    try:
        tree = marked_tree(tmp_path)
        started = {"n": 2, "kind": "kill-marked", "mark": mark}
        journal(state, header(boot="another"), tree_entry(tree), started)
        recover()
        assert not tree.exists() and child.poll() is None
    finally:
        child.kill()
        child.wait()


def test_a_state_directory_that_others_can_write_to_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "open"
    path.mkdir()
    path.chmod(0o777)
    monkeypatch.setenv("IOWHY_STATE", str(path))
    with wrong("state-not-private", path=path):
        recover()


def test_a_journal_that_is_a_link_is_not_followed(state, tmp_path):
    tree = marked_tree(tmp_path)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text(json.dumps(header()) + "\n" + json.dumps(tree_entry(tree)) + "\n")
    (state / "link.jsonl").symlink_to(elsewhere)
    with wrong("not-undone"):
        recover()
    assert tree.exists()


SESSION = textwrap.dedent(
    """
    import sys, time
    from pathlib import Path
    from iowhy.undo import Undo
    with Undo.session("t") as undo:
        undo.scratch_directory(sys.argv[1])
        print("ready", flush=True)
        time.sleep(60)
    """
)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_undo(state, tmp_path, number):
    child = started(tmp_path)
    child.send_signal(number)
    child.send_signal(number)
    assert child.wait(30) != 0
    assert left(tmp_path) == [] and list(state.iterdir()) == []


def test_kill_9_is_undone_by_the_next_start(state, tmp_path):
    child = started(tmp_path)
    child.kill()
    child.wait()
    assert len(left(tmp_path)) == 1
    # Not at once when its own start is what shows it dead: the pid is gone now.
    assert len(recover()) == 1
    assert left(tmp_path) == [] and list(state.iterdir()) == []


def started(tmp_path):
    child = subprocess.Popen(
        [sys.executable, "-c", SESSION, str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        # Whoever started the tests may ignore it (nohup does).
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),
    )
    assert child.stdout is not None and child.stdout.readline() == b"ready\n"
    child.stdout.close()
    time.sleep(0.01)
    return child


def left(tmp_path):
    return [path for path in Path(tmp_path).iterdir() if path.name.startswith("iowhy-")]


@pytest.mark.parametrize(
    ("option", "now", "back"),
    [
        ("nobarrier", ("rw",), "barrier"),
        ("noatime", ("rw",), "atime"),
        ("sync", ("rw",), "async"),
        ("commit=30", ("rw", "commit=5"), "commit=5"),
        ("commit=30", ("rw",), None),
        ("ro", ("rw",), None),
        ("a,b", (), None),
        ("x;y", (), None),
    ],
)
def test_how_a_mount_option_is_taken_back(option, now, back):
    assert opposite_option(option, now) == back
