"""Every way in which a recording ends: the command keeps its status, the recording is whole, the verdict is given."""

import functools
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from iowhy.recordings import Recording, open_recording
from iowhy.sources.live import program

pytestmark = pytest.mark.usefixtures("live")

IOWHY = [sys.executable, "-m", "iowhy"]
#: Makes a file when it runs, then sleeps, and ends by itself or by somebody.
SLEEPER = "touch {0}/runs; sleep {1}; exit 3"
SLEEPER_ALONE = (
    "touch {0}/runs; exec sleep {1}"  # no shell is left between it and who sends a signal
)


def started(
    folder: Path, *options: str, script: str = SLEEPER, seconds: int = 60, **given: object
) -> subprocess.Popen:
    """`iowhy run` of a command that has begun."""
    child = subprocess.Popen(
        [*IOWHY, "run", "-o", folder / "a.iowhy", *options, "--", "sh", "-c", script.format(folder, seconds)],
        **{"stderr": subprocess.PIPE, "text": True, "start_new_session": True} | given,
    )  # fmt: skip
    wait_for((folder / "runs").exists)
    return child


def wait_for(holds: Callable[[], object], patience_s: float = 60) -> None:
    end = time.monotonic() + patience_s
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


def made(folder: Path) -> Recording:
    return open_recording(folder / "a.iowhy")


def ignoring(*signals: signal.Signals) -> Callable[[], None]:
    """For `preexec_fn`: what nohup(1) or `trap '' INT` leave to what they start."""
    return lambda: [signal.signal(number, signal.SIG_IGN) for number in signals] and None


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_request_to_end_still_gives_the_verdict(tmp_path: Path, number: signal.Signals) -> None:
    # Who runs the tests may ignore hang-ups (nohup), and what is ignored stays so.
    heard = functools.partial(signal.signal, number, signal.SIG_DFL)
    child = started(tmp_path, script=SLEEPER_ALONE, preexec_fn=heard)
    time.sleep(1)  # shorter runs are not judged
    child.send_signal(number)
    _, said = child.communicate(timeout=60)
    assert child.returncode == 128 + number
    assert "not-io" in said and f"ended by {number.name}" in said
    assert made(tmp_path).manifest.complete
    assert made(tmp_path).manifest.command.signal == number


def test_timeout_waits_for_the_verdict(tmp_path: Path) -> None:
    script = SLEEPER_ALONE.format(tmp_path, 60)
    words = ["timeout", "300", *IOWHY, "run", "-o", tmp_path / "a.iowhy", "--", "sh", "-c", script]
    child = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_for((tmp_path / "runs").exists)
    time.sleep(1)  # shorter runs are not judged
    child.send_signal(signal.SIGALRM)  # by which timeout(1) hears that the time is over
    shown, said = child.communicate(timeout=60)
    assert child.returncode == 124
    assert "iowhy why" in said and shown == ""
    assert made(tmp_path).manifest.complete


def test_who_ignores_a_hangup_records_on(tmp_path: Path) -> None:
    child = started(tmp_path, seconds=2, preexec_fn=ignoring(signal.SIGHUP))
    os.killpg(child.pid, signal.SIGHUP)
    assert child.wait(timeout=60) == 3
    assert made(tmp_path).manifest.complete
    assert made(tmp_path).manifest.command.signal is None


def test_the_command_inherits_its_callers_signals(tmp_path: Path) -> None:
    # Whoever started the tests may ignore signals of its own: the command sees what it would see
    # without iowhy, and that has what is ignored here. grep misses the second file: its status is 2.
    shown = ["grep", "-E", "Sig(Ign|Blk)", "/proc/self/status", str(tmp_path / "none")]
    many = (signal.SIGINT, signal.SIGHUP, signal.SIGTERM, signal.SIGCHLD)
    for start, ignored in (
        (IOWHY, ()),
        (IOWHY, many),
        ([program("iowhy")], ()),
        ([program("iowhy")], (signal.SIGPIPE,)),
        ([program("iowhy")], (signal.SIGPIPE, signal.SIGXFSZ, *many)),
    ):
        folder = Path(tempfile.mkdtemp(dir=tmp_path))
        recorded = [*start, "run", "-q", "-o", str(folder / "a.iowhy"), "--", *shown]
        alone, watched = (
            subprocess.run(
                ["env", "--block-signal=USR1", *command],
                stdout=subprocess.PIPE,
                text=True,
                check=False,
                preexec_fn=ignoring(*ignored),
            )
            for command in (shown, recorded)
        )
        assert (watched.stdout, watched.returncode) == (alone.stdout, 2)
        blocked, mask = (int(line.split()[-1], 16) for line in alone.stdout.splitlines())
        assert blocked >> (signal.SIGUSR1 - 1) & 1
        assert all(mask >> (number - 1) & 1 for number in ignored)


@pytest.mark.parametrize("streams", [">/dev/full 2>/dev/full", ">&- 2>&-", "<&- >&- 2>&-", "2>&-"])
def test_full_and_closed_streams_cost_neither_recording_nor_status(
    tmp_path: Path, streams: str
) -> None:
    words = [*IOWHY, "run", "-o", str(tmp_path / "a.iowhy"), "--", "sh", "-c", "exit 7"]
    done = subprocess.run(["sh", "-c", f'"$@" {streams}', "sh", *words], check=False)
    assert done.returncode == 7
    assert made(tmp_path).manifest.complete


@pytest.mark.parametrize("reader", ["2>/dev/full", "2>&1 >&3 | true"])
def test_what_the_recorder_cannot_say_costs_neither_recording_nor_status(
    tmp_path: Path, reader: str
) -> None:
    """It has something to say while the command runs, and when there is no such command."""
    script = f'"$@" 3>&1 {reader}; exit ${{PIPESTATUS[0]}}'
    words = [*IOWHY, "run", "-o", str(tmp_path / "a.iowhy"), "--max-time", "100ms", "--"]
    for command, status in ((["sh", "-c", "sleep 1; exit 7"], 7), (["no-such-command"], 127)):
        done = subprocess.run(["bash", "-c", script, "bash", *words, *command], check=False)
        assert done.returncode == status
        if status == 7:
            assert made(tmp_path).manifest.complete
            shutil.rmtree(tmp_path / "a.iowhy")


def test_a_limit_on_the_size_of_files_costs_the_recording_and_not_the_status(
    tmp_path: Path,
) -> None:
    """The signal of that limit (SIGXFSZ) is the command's, as without iowhy; the recorder has an error."""
    shown = f"ulimit -f unlimited; head -c 600000 /dev/zero > {tmp_path}/large; exit 7"
    words = [*IOWHY, "run", "-o", str(tmp_path / "a.iowhy"), "--", "sh", "-c"]
    #: 100 KiB: room for what is held back for the manifest, not for so many rows.
    limited = ["bash", "-c", 'ulimit -S -f 100; "$@"', "bash", *words]
    done = subprocess.run([*limited, shown], check=False, capture_output=True, text=True)
    assert done.returncode == 7 and (tmp_path / "large").stat().st_size == 600000, done.stderr
    shutil.rmtree(tmp_path / "a.iowhy")
    killed = "bash -c 'head -c 600000 /dev/zero > large; exit $?'"
    done = subprocess.run(
        [*limited, killed], check=False, capture_output=True, text=True, cwd=tmp_path
    )
    assert done.returncode == 128 + signal.SIGXFSZ
    shutil.rmtree(tmp_path / "a.iowhy")
    many = f"{sys.executable} -c 'import os\nfor _ in range(100000): os.pread(0, 1, 0)' < {__file__}; exit 7"
    done = subprocess.run([*limited, many], check=False, capture_output=True, text=True)
    assert done.returncode == 7
    assert "File too large" in done.stderr, done.stderr
    assert not made(tmp_path).manifest.complete


@pytest.mark.parametrize("status", [0, 7])
def test_a_command_that_removes_its_recording_keeps_its_status(tmp_path: Path, status: int) -> None:
    words = [*IOWHY, "run", "-o", str(tmp_path / "a.iowhy"), "--"]
    remove = f"rm -r {tmp_path / 'a.iowhy'}; exit {status}"
    done = subprocess.run([*words, "sh", "-c", remove], check=False, capture_output=True, text=True)
    assert done.returncode == status, done.stderr
    assert done.stderr.count("cannot write") == 1
    assert "nothing of the recording is left" in done.stderr and "readable" not in done.stderr


def test_when_iowhy_is_killed_the_command_and_its_recording_go_on(tmp_path: Path) -> None:
    child = started(tmp_path, "-q", seconds=2, stderr=subprocess.DEVNULL)
    child.kill()
    child.wait()
    wait_for(lambda: made(tmp_path).manifest.complete)
    assert made(tmp_path).manifest.command.exit_status == 3
    assert made(tmp_path).manifest.command.signal is None


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGABRT, signal.SIGQUIT])
def test_when_the_recorder_is_killed_the_command_is_waited_for(
    tmp_path: Path, number: signal.Signals
) -> None:
    child = started(tmp_path, seconds=3)
    recorder = made(tmp_path).manifest.recorder.pid
    assert recorder is not None
    os.kill(recorder, number)
    _, said = child.communicate(timeout=60)
    assert child.returncode == 3
    assert said.count("the recorder was killed; the command runs on, unrecorded") == 1
    assert not made(tmp_path).manifest.complete


def ends_early(folder: Path, *options: str, code: str) -> tuple[int, str]:
    """Status and stderr of a command whose recording reaches a bound."""
    done = subprocess.run(
        [*IOWHY, "run", "-o", folder / "a.iowhy", *options, "--", sys.executable, "-c", code],
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        timeout=120,
    )
    return done.returncode, done.stderr


def test_a_recording_ends_after_its_time_and_the_command_runs_on(tmp_path: Path) -> None:
    code = f"import time; time.sleep(3); open({str(tmp_path / 'end')!r}, 'w'); raise SystemExit(3)"
    status, said = ends_early(tmp_path, "--max-time", "1s", code=code)
    assert status == 3 and (tmp_path / "end").exists()
    assert "the recording has reached its 1 s (--max-time): the command runs on unrecorded" in said
    manifest = made(tmp_path).manifest
    assert manifest.complete and any("--max-time" in note for note in manifest.notes)
    assert manifest.command.start_ns is not None and manifest.command.end_ns is not None
    assert 1e9 <= manifest.command.end_ns - manifest.command.start_ns < 3e9


def test_a_recording_ends_at_its_size(tmp_path: Path) -> None:
    # Until somebody has read that the recording has ended.
    code = f"import os\nwhile not os.path.exists({str(tmp_path / 'said')!r}): os.stat('/')"
    words = [
        "run",
        "-o",
        tmp_path / "a.iowhy",
        "--max-size",
        "4KiB",
        "--",
        sys.executable,
        "-c",
        code,
    ]
    with subprocess.Popen([*IOWHY, *words], stderr=subprocess.PIPE, text=True) as child:
        assert child.stderr is not None
        assert "has reached its 4096 bytes (--max-size)" in child.stderr.readline()
        (tmp_path / "said").touch()
        child.stderr.read()
    assert child.returncode == 0
    assert made(tmp_path).manifest.complete


def test_a_recording_leaves_room_to_others_and_the_command_its_status(tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=40m", "tmpfs", small], check=True)
    try:
        # It takes all but 1 MiB, less than the twentieth that is left to others.
        fill = f"f = open({str(small / 'own')!r}, 'wb'); f.write(bytes(39 << 20)); f.close()"
        status, said = ends_early(small, code=f"import time; {fill}; time.sleep(1); print('done')")
        assert status == 0
        assert "a recording leaves 2 MiB to others: the command runs on unrecorded" in said
        assert made(small).manifest.complete
    finally:
        subprocess.run(["umount", small], check=True)


def test_a_full_disk_is_one_line_and_leaves_no_folder(tmp_path: Path) -> None:
    full = tmp_path / "full"
    full.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m,nr_inodes=4", "tmpfs", full], check=True)
    try:
        for name in ("a", "b"):
            (full / name).touch()
        done = subprocess.run(
            [sys.executable, "-m", "iowhy", "run", "-q", "--", "true"],
            cwd=full, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 125 and done.stderr.count("\n") == 1
        assert sorted(one.name for one in full.iterdir()) == ["a", "b"]
    finally:
        subprocess.run(["umount", full], check=True)
