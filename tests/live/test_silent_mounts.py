"""A filesystem that has stopped answering: who reads from it waits beyond the reach of signals, and the recorder must not."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from iowhy import proc_stat
from iowhy.recordings import Recording, open_recording
from iowhy.recordings.check import check_recording
from iowhy.sources.live import RECORDER, program
from iowhy.whys.verdict import judge
from machine import python, run
from running_agent import within

pytestmark = pytest.mark.usefixtures("live")

#: Far longer than all deadlines together: what takes so long hangs.
HANGS_S = 60
#: So long it is recorded: shorter runs are not judged.
SECONDS = 1.5
#: Reads from the mount, has its server fall silent, says so, and reads on.
READS = """
import os, signal, sys, time
fd = os.open(sys.argv[1] + "/read", os.O_RDONLY)
os.read(fd, 4096)
os.kill(int(sys.argv[2]), signal.SIGUSR1)
time.sleep(0.2)
print("silent", flush=True)
{call}
"""
READ = READS.format(call="os.read(fd, 4096)")
#: It begins a program, and the kernel waits with that for what closes the file: none of its files in /proc is shown meanwhile.
EXEC = READS.format(call="os.execl('/bin/sleep', 'sleep', '300')")
STAT = READS.format(call='os.stat(sys.argv[1] + "/looked-at")')


@pytest.fixture
def silenced(tmp_path: Path) -> Iterator[tuple[Path, int]]:
    """Where a filesystem is mounted that will stop answering, and the process that serves it."""
    mount = tmp_path / "silent"
    mount.mkdir()
    server_program = Path(__file__).with_name("fuse_names.py")
    argv = [sys.executable, server_program, mount, "0"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as server:
        assert server.stdout is not None and server.stdout.readline() == b"mounted\n"
        try:
            yield mount, server.pid
        finally:
            # Then who waits for an answer has one: an error.
            server.kill()
            server.wait()
            run("umount", "-l", str(mount))


@contextmanager
def reading(mount: Path, server: int, code: str) -> Iterator[int]:
    """A process that waits for the silent filesystem."""
    argv = python(code, mount, str(server))
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as reader:
        assert reader.stdout is not None and reader.stdout.readline() == b"silent\n"
        time.sleep(0.3)
        try:
            yield reader.pid
        finally:
            os.kill(server, signal.SIGKILL)
            reader.kill()


def recorded(words: list[str | Path], out: Path, *, once: Callable[[], object] | None) -> Recording:
    """Records by these words; `once` that holds, Ctrl-C is pressed after a while."""
    argv = [program(RECORDER), words[0], "-o", out, *words[1:]]
    with subprocess.Popen(argv, process_group=0, stdout=subprocess.PIPE) as recorder:
        try:
            if once is not None:
                within(HANGS_S, once)
                time.sleep(SECONDS)
                os.killpg(recorder.pid, signal.SIGINT)
            recorder.wait(HANGS_S)
        except BaseException:
            recorder.kill()
            raise
    recording = open_recording(out)
    assert recording.manifest.complete
    assert all(one.ok for one in check_recording(recording))
    return recording


def _begun(folder: Path) -> bool:
    """Whether the recording there has begun."""
    manifest = folder / "a.iowhy" / "manifest.json"
    return manifest.exists() and json.loads(manifest.read_text())["command"]["start_ns"] is not None


def named(recording: Recording, mount: Path) -> bool:
    """Whether the manifest says that it did not answer."""
    notes = json.loads((recording.folder / "manifest.json").read_text())["notes"]
    return any(note.startswith(f"{mount} (fuse.names) did not answer") for note in notes)


def test_a_command_that_waits_for_it_is_left_at_ctrl_c(
    tmp_path: Path, silenced: tuple[Path, int]
) -> None:
    mount, server = silenced
    said, out = tmp_path / "said", tmp_path / "a.iowhy"
    argv = ["sh", "-c", 'exec "$@" > "$0"', said, *python(READ, mount, str(server))]
    words = ["run", "--stacks", "--", *argv]
    recording = recorded(words, out, once=lambda: said.exists() and said.read_text())
    assert named(recording, mount)
    assert recording.ran("extents")
    first = judge(recording).findings[0]
    assert first.cause == "fuse-daemon"
    assert first.comes_first and f"{mount} (fuse.names)" in first.summary


@pytest.mark.parametrize("code", [READ, STAT], ids=["read", "stat"])
@pytest.mark.parametrize("interrupted", [False, True], ids=["for a time", "until ctrl-c"])
def test_who_waits_for_it_already_is_seen_to(
    tmp_path: Path, silenced: tuple[Path, int], interrupted: bool, code: str
) -> None:
    """Attached to, in a call that began before and never ends."""
    mount, server = silenced
    with reading(mount, server, code) as pid:
        words = [
            "attach",
            "--pid",
            str(pid),
            *([] if interrupted else ["--duration", str(SECONDS)]),
        ]
        once = (lambda: _begun(tmp_path)) if interrupted else None
        recording = recorded(words, tmp_path / "a.iowhy", once=once)
    assert named(recording, mount)
    first = judge(recording).findings[0]
    assert first.cause == "fuse-daemon"
    assert first.comes_first and f"{mount} (fuse.names)" in first.summary


@pytest.mark.parametrize("interrupted", [False, True], ids=["for a time", "until ctrl-c"])
def test_a_machine_on_which_it_is_mounted_is_recorded(
    tmp_path: Path, silenced: tuple[Path, int], interrupted: bool
) -> None:
    mount, server = silenced
    with reading(mount, server, READ):
        words = ["machine", *([] if interrupted else ["--duration", str(SECONDS)])]
        once = (lambda: _begun(tmp_path)) if interrupted else None
        recording = recorded(words, tmp_path / "a.iowhy", once=once)
    assert named(recording, mount)
    # Whatever else the machine does: this is what never ends.
    first = judge(recording).findings[0]
    assert first.cause == "fuse-daemon"
    assert first.comes_first and f"{mount} (fuse.names)" in first.summary


@pytest.mark.parametrize("mode", ["bpf", "proc"])
def test_who_begins_a_program_meanwhile_holds_nobody_up(
    tmp_path: Path, silenced: tuple[Path, int], mode: str
) -> None:
    """Neither the recorder nor who looks for descendants first."""
    mount, server = silenced
    with reading(mount, server, EXEC) as pid:
        words = ["run", "-q", "--mode", mode, "--duration", "2", "-p", str(pid)]
        argv = [sys.executable, "-m", "iowhy.cli.main", *words, "-o", tmp_path / "a.iowhy"]
        subprocess.run(argv, check=True, timeout=HANGS_S)
        file = Path(f"/proc/{pid}/io")
        with subprocess.Popen(["cat", file], stdout=subprocess.DEVNULL) as cat:
            with pytest.raises(subprocess.TimeoutExpired):  # else it tests nothing
                cat.wait(1)
            cat.kill()
    recording = open_recording(tmp_path / "a.iowhy")
    assert recording.manifest.complete and recording.manifest.source == {"bpf": "live"}.get(
        mode, mode
    )


def test_what_a_runtime_keeps_there_is_left_out(tmp_path: Path, silenced: tuple[Path, int]) -> None:
    mount, server = silenced
    kept = Path("/run/crun")
    kept.mkdir(exist_ok=True)
    bound = (
        f"mount --bind {mount} {kept} && exec {program(RECORDER)} run -o {tmp_path}/a.iowhy -- true"
    )
    with reading(mount, server, READ):
        subprocess.run(["unshare", "-m", "sh", "-c", bound], check=True, timeout=HANGS_S)
    with suppress(OSError):
        kept.rmdir()
    notes = open_recording(tmp_path / "a.iowhy").manifest.notes
    assert [note for note in notes if f" files on {kept} (fuse.names) did not answer" in note]


def test_where_a_command_is_looked_for_there_ctrl_c_leaves(
    tmp_path: Path, silenced: tuple[Path, int]
) -> None:
    mount, server = silenced
    path = {**os.environ, "PATH": f"{mount}:{os.environ['PATH']}"}
    argv = [program(RECORDER), "run", "-o", tmp_path / "a.iowhy", "--", "true"]
    with reading(mount, server, READ):
        for interrupted, status in ((True, 130), (False, 125)):
            # The child that waits keeps its streams.
            with (
                (tmp_path / "said").open("w") as stderr,
                subprocess.Popen(argv, env=path, process_group=0, stderr=stderr) as recorder,
            ):
                if interrupted:
                    time.sleep(3)
                    os.killpg(recorder.pid, signal.SIGINT)
                recorder.wait(HANGS_S)
            assert recorder.returncode == status
            said = (tmp_path / "said").read_text()
            assert interrupted or f"{mount}/true does not answer" in said
            assert not (tmp_path / "a.iowhy").exists()


@pytest.mark.parametrize("options", [[], ["--max-time", "1"]], ids=["recorded", "after --max-time"])
def test_a_frozen_command_is_left_at_ctrl_c(tmp_path: Path, options: list[str]) -> None:
    out = tmp_path / "a.iowhy"
    pid = tmp_path / "pid"
    argv = ["sh", "-c", "echo $$ > $1; kill -STOP $$", "sh", pid]

    def stopped() -> bool:
        text = pid.read_text() if pid.exists() else ""
        fields = proc_stat.fields(int(text)) if text else None
        return fields is not None and fields[proc_stat.STATE] == "T"

    try:
        recording = recorded(["run", *options, "--", *argv], out, once=stopped)
    finally:
        # A stopped process of a group that nobody is left to continue ends by SIGHUP (setpgid(2)).
        with suppress(ProcessLookupError):
            os.kill(int(pid.read_text()), signal.SIGKILL)
    assert recording.manifest.command.exit_status is None


def test_a_command_that_is_given_a_place_on_it_says_so(
    tmp_path: Path, silenced: tuple[Path, int]
) -> None:
    mount, server = silenced
    settings = tmp_path / "agent.toml"
    settings.write_text(f'[agent]\ndirectory = "{mount}/agent"\n')
    calls: list[list[str | Path]] = [
        ["why", mount / "x.iowhy"],
        ["run", "-q", "-o", mount / "x.iowhy", "--", "true"],
        ["fleet", "check", mount],
        ["agent", "check", "-c", settings],
    ]
    iowhy = [sys.executable, "-m", "iowhy.cli.main"]
    with reading(mount, server, READ):
        begun = [
            subprocess.Popen([*iowhy, *words], stderr=subprocess.PIPE, text=True) for words in calls
        ]
        for one in begun:
            _, said = one.communicate(timeout=HANGS_S)
            assert one.returncode == 2
            assert "has not answered" in said and said.count("\n") == 1
