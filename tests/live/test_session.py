"""A session begins and ends cleanly, whatever happens to the command or to the recorder."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from conftest import cannot_run
from iowhy.recordings import open_recording
from iowhy.recordings.check import check_recording
from iowhy.sources.live import RECORDER, program
from machine import ask, one, python, record, run

pytestmark = pytest.mark.usefixtures("live")

IOWHY = [sys.executable, "-m", "iowhy.cli.main"]
#: Stands for this process, whose number is another in each of pytest's own.
MYSELF = "myself"


def of(whom: list[str]) -> list[str]:
    return [str(os.getpid()) if word == MYSELF else word for word in whom]


def good(path: Path) -> None:
    bad = [check for check in check_recording(open_recording(path)) if not check.ok]
    assert not bad, bad


def programs_held(pid: int) -> set[int]:
    """Ids of the BPF programs that a process holds (proc_pid_fdinfo(5))."""
    found = set()
    for info in Path(f"/proc/{pid}/fdinfo").iterdir():
        with suppress(FileNotFoundError):  # closed in the meantime
            fields = (line.split() for line in info.read_text().splitlines())
            found.update(int(words[1]) for words in fields if words[:1] == ["prog_id:"])
    return found


def programs_loaded() -> set[int]:
    """Ids of all BPF programs on this machine."""
    return {program["id"] for program in json.loads(run("bpftool", "--json", "prog", "list"))}


def test_every_sensor_of_this_kernel_runs() -> None:
    """A program that the kernel refuses costs only its sensor: that must not pass unseen."""
    sensors = json.loads(run(str(program(RECORDER)), "probe"))["sensors"]
    assert {s["name"]: s["why"] for s in sensors if not s["ran"]} == {}
    assert {
        "syscalls",
        "waits",
        "block_requests",
        "page_cache",
        "lookups",
        "allocations_btrfs",
    } <= {s["name"] for s in sensors}


@pytest.mark.parametrize(
    ("spoilt", "lost"), [("on_reclaim_begin", "thread_time"), ("on_page_add", "page_cache")]
)
def test_a_program_that_the_verifier_refuses_costs_its_sensor_alone(
    spoilt: str, lost: str, tmp_path: Path
) -> None:
    words = [program(RECORDER), "run", "--mode", "bpf", "--spoil", spoilt, "-o", tmp_path / "r"]
    done = subprocess.run([*words, "--", "true"], capture_output=True, text=True, check=True)
    manifest = open_recording(tmp_path / "r").manifest
    (said,) = [note for note in manifest.notes if note.startswith(f"this kernel refuses {spoilt}")]
    assert said in done.stderr and lost in said
    refused = {one.name for one in manifest.sensors if spoilt in (one.why or "")}
    assert refused == {lost}
    assert manifest.complete and manifest.source == "live"
    assert {one.name for one in manifest.sensors if one.ran} >= {"syscalls", "waits", "stacks"}


def test_without_the_scheduler_the_recording_is_from_proc(tmp_path: Path) -> None:
    words = [program(RECORDER), "run", "--spoil", "on_sched_wakeup", "-o", tmp_path / "r"]
    subprocess.run([*words, "--", "true"], check=True)
    manifest = open_recording(tmp_path / "r").manifest
    assert manifest.complete and manifest.source == "proc"
    assert all(
        "on_sched_wakeup" in (one.why or "") for one in manifest.sensors if one.name == "syscalls"
    )


def test_streams_and_status_pass_through(tmp_path: Path) -> None:
    done = subprocess.run(
        [*IOWHY, "run", "-o", tmp_path / "a.iowhy", "--", "sh", "-c", "cat; echo oops >&2; exit 3"],
        input="hello\n",
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.stdout, done.returncode) == ("hello\n", 3)
    assert done.stderr.startswith("oops\n")
    assert open_recording(tmp_path / "a.iowhy").manifest.command.exit_status == 3


def test_the_command_begins_when_its_program_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the recorder does before is not the command's: the gate, the search along PATH, the readings."""
    (tmp_path / "empty").mkdir()
    script = tmp_path / "here" / "a script"
    script.parent.mkdir()
    script.write_text("exit 4\n")  # exec(3) gives one without #! to the shell
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/empty:{tmp_path}/here:{os.environ['PATH']}")
    record(["a script"], tmp_path / "script.iowhy", status=4)
    recording = record(["true"], tmp_path / "a.iowhy")
    assert ask(
        recording, "SELECT sum(calls), sum(errors) FROM syscall_totals WHERE name = 'execve'"
    ) == [(1, 0)]
    start = recording.manifest.command.start_ns
    assert start is not None
    first = one(recording, "SELECT min(ts_ns) FROM thread_time")
    assert first == start
    # The one byte that opens the gate.
    assert one(recording, "SELECT count(*) FROM syscalls WHERE name = 'read' AND ret = 1") == 0


def test_json_is_alone_on_stdout(tmp_path: Path) -> None:
    done = subprocess.run(
        [
            *IOWHY,
            "run",
            "--json",
            "-o",
            tmp_path / "a.iowhy",
            "--",
            "sh",
            "-c",
            "echo hello; exit 3",
        ],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    verdict = json.loads(done.stdout)
    assert verdict["version"] == 4 and "findings" in verdict
    assert (done.returncode, verdict["exit_status"], verdict["signal"]) == (3, 3, None)
    assert "hello" in done.stderr


def test_a_missing_command_is_one_clear_error(tmp_path: Path) -> None:
    done = subprocess.run(
        [*IOWHY, "run", "-o", tmp_path / "a.iowhy", "--", "no-such-command"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 127
    assert "no-such-command" in done.stderr and len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "a.iowhy").exists()


def test_a_signal_is_told(tmp_path: Path) -> None:
    recording = record(["sh", "-c", "kill -TERM $$"], tmp_path / "a.iowhy", status=143)
    assert recording.manifest.command.signal == signal.SIGTERM


def test_interrupt_ends_the_command_and_still_gives_the_verdict(tmp_path: Path) -> None:
    child = subprocess.Popen(
        [*IOWHY, "run", "-o", tmp_path / "a.iowhy", "--", "sleep", "60"],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    _wait_for(lambda: _running("sleep", child.pid))
    os.killpg(child.pid, signal.SIGINT)
    _, message = child.communicate(timeout=60)
    assert child.returncode == 130
    assert "sleep" in message or "idle" in message, message
    good(tmp_path / "a.iowhy")
    assert open_recording(tmp_path / "a.iowhy").manifest.complete


@pytest.mark.parametrize("seconds", [0.02, 0.1, 0.2])
def test_an_interrupt_before_the_command_runs_is_not_lost(tmp_path: Path, seconds: float) -> None:
    child = subprocess.Popen(
        [program(RECORDER), "run", "-o", tmp_path / "a.iowhy", "--", "sleep", "120"],
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    time.sleep(seconds)
    os.killpg(child.pid, signal.SIGINT)
    assert child.wait(timeout=60) in (130, -signal.SIGINT)


def test_a_killed_recorder_leaves_a_recording_that_opens_and_no_programs(tmp_path: Path) -> None:
    writer = "import os\nwhile True: os.write(os.open('/dev/null', os.O_WRONLY), b'x'); os.close(3)"
    child = subprocess.Popen(
        [program(RECORDER), "run", "-o", tmp_path / "a.iowhy", "--", *python(writer)],
        start_new_session=True,
        stderr=subprocess.DEVNULL,
    )
    try:
        _wait_for(lambda: any((tmp_path / "a.iowhy" / "syscalls").glob("*.parquet")), 60)
        programs = programs_held(child.pid)
        assert len(programs) > 10 and programs <= programs_loaded()
        child.kill()
        child.wait(60)
    finally:
        os.killpg(child.pid, signal.SIGKILL)
    recording = open_recording(tmp_path / "a.iowhy")
    good(recording.path)
    assert not recording.manifest.complete
    assert one(recording, "SELECT count(*) FROM syscalls WHERE name = 'write'") > 0  # type: ignore[operator]
    _wait_for(lambda: not programs & programs_loaded())


def test_two_recordings_at_once_do_not_mix(tmp_path: Path) -> None:
    code = "import os, sys\nfor _ in range(int(sys.argv[1])): os.stat('/')\nimport time; time.sleep(0.5)"
    first, second = (
        subprocess.Popen(
            [program(RECORDER), "run", "-o", tmp_path / f"{n}.iowhy", "--", *python(code, str(n))],
            stderr=subprocess.DEVNULL,
        )
        for n in (1013, 2027)
    )
    assert first.wait(60) == 0 and second.wait(60) == 0
    for number in (1013, 2027):
        recording = open_recording(tmp_path / f"{number}.iowhy")
        assert one(recording, "SELECT count(DISTINCT tgid) FROM threads") == 1
        calls = one(
            recording,
            "SELECT sum(calls)::BIGINT FROM syscall_totals WHERE name IN ('stat', 'newfstatat')",
        )
        assert isinstance(calls, int) and number <= calls < number + 500


@pytest.mark.disturbed_by("cpu")
@pytest.mark.usefixtures("before_others")
def test_a_running_process_is_attached_to(tmp_path: Path) -> None:
    busy = subprocess.Popen(python("import os, time\nwhile True: os.stat('/'); time.sleep(0.01)"))
    try:
        done = subprocess.run(
            [
                program(RECORDER),
                "attach",
                "-o",
                tmp_path / "a.iowhy",
                "--pid",
                str(busy.pid),
                "--duration",
                "1.5",
            ],
            timeout=60,
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert busy.poll() is None
    finally:
        busy.kill()
    recording = open_recording(tmp_path / "a.iowhy")
    assert ask(recording, "SELECT DISTINCT tgid FROM threads") == [(busy.pid,)]
    calls = one(recording, "SELECT sum(calls)::BIGINT FROM syscall_totals WHERE name LIKE '%stat%'")
    assert isinstance(calls, int) and calls > 20
    command = recording.manifest.command
    assert command.start_ns is not None and command.end_ns is not None
    watched = command.end_ns - command.start_ns
    assert watched >= 1.5e9
    # Its clock is read a little after the start and once more after the end.
    accounted = one(recording, "SELECT sum(interval_ns)::BIGINT FROM thread_time")
    assert isinstance(accounted, int) and 0.9 * watched <= accounted <= watched + 1e9


def test_the_whole_machine_is_watched_without_the_recorder(tmp_path: Path) -> None:
    busy = subprocess.Popen(python("import os, time\nwhile True: os.stat('/'); time.sleep(0.01)"))
    try:
        done = subprocess.run(
            [program(RECORDER), "machine", "-o", tmp_path / "a.iowhy", "--duration", "1.5"],
            timeout=60,
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
    finally:
        busy.kill()
    recording = open_recording(tmp_path / "a.iowhy")
    assert one(recording, "SELECT count(*) FROM threads WHERE tgid = ?", busy.pid) == 1
    own = recording.manifest.recorder.pid
    assert one(recording, "SELECT count(*) FROM syscalls WHERE tgid = ?", own) == 0


@pytest.mark.disturbed_by("cpu")
@pytest.mark.usefixtures("before_others")
def test_proc_alone_says_what_it_cannot_tell(tmp_path: Path) -> None:
    code = "import time\nend = time.monotonic() + 1\nwhile time.monotonic() < end: pass"
    recording = record(python(code), tmp_path / "a.iowhy", "--mode", "proc")
    assert recording.manifest.source == "proc"
    assert not recording.ran("syscalls") and recording.ran("thread_time")
    assert all(sensor.why for sensor in recording.manifest.sensors if not sensor.ran)
    spun = one(
        recording, "SELECT sum(cpu_user_ns + cpu_kernel_ns + runnable_ns)/1e9 FROM thread_time"
    )
    elapsed = recording.manifest.elapsed_ns
    assert isinstance(spun, float) and elapsed is not None
    assert 0.75 <= spun <= elapsed / 1e9 + 0.1


def _running(name: str, above: int) -> bool:
    listed = run("ps", "-e", "-o", "comm=,sid=").splitlines()
    return any(line.split() == [name, str(above)] for line in listed)


def _wait_for(condition: object, seconds: float = 60) -> None:
    assert callable(condition)
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.05)


@pytest.mark.parametrize(
    ("whom", "said"),
    [
        (["-a"], "iowhy: recording the machine for 0.2 s; Ctrl-C ends it"),
        (["-p", MYSELF], "iowhy: recording process {myself} ("),
        (["-p", str(2**22 - 1)], None),
        (["--container", "no-such-container"], None),
        (["--pod", "no/such-pod"], None),
        (["--cgroup", "/sys/fs/cgroup/no-such-group"], None),
    ],
)
def test_that_it_records_is_said_once_it_does(
    tmp_path: Path, whom: list[str], said: str | None
) -> None:
    asked = [
        "run",
        "--mode",
        "proc",
        "--duration",
        "0.2s",
        "-o",
        str(tmp_path / "a.iowhy"),
        *of(whom),
    ]
    done = subprocess.run([*IOWHY, *asked], check=False, capture_output=True, text=True, timeout=60)
    if said is None:
        assert done.returncode == 2 and len(done.stderr.splitlines()) == 1
        assert "recording" not in done.stderr
        assert re.search(r" no (such|container|pod|control) ", done.stderr)
    else:
        assert done.returncode == 0 and done.stderr.splitlines()[0].startswith(
            said.format(myself=os.getpid())
        )


@pytest.mark.parametrize("whom", [["-a"], ["-p", MYSELF]])
def test_proc_alone_also_of_what_runs_already(tmp_path: Path, whom: list[str]) -> None:
    kept = tmp_path / "a.iowhy"
    asked = ["run", "-q", "--mode", "proc", "--duration", "0.2s", "-o", str(kept), *of(whom)]
    subprocess.run([*IOWHY, *asked], check=True, capture_output=True, timeout=60)
    assert open_recording(kept).manifest.source == "proc"


def test_a_recorder_in_a_time_namespace_has_the_clock_of_the_machine(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    ahead = ["unshare", "--time", "--fork", "--monotonic", "86400", "--boottime", "86400"]
    if subprocess.run([*ahead, "true"], capture_output=True, check=False).returncode:
        cannot_run(request, "no time namespaces")
    before_ns = time.monotonic_ns()
    words = ["run", "-o", str(tmp_path / "r.iowhy"), "--", "dd", "if=/dev/zero", f"of={tmp_path}/f"]
    run(*ahead, str(program(RECORDER)), *words, "bs=4k", "count=3", "status=none")
    good(tmp_path / "r.iowhy")
    recording = open_recording(tmp_path / "r.iowhy")
    command = recording.manifest.command
    assert command.start_ns is not None and command.end_ns is not None
    assert before_ns < command.start_ns < command.end_ns < time.monotonic_ns()
    begun = one(recording, "SELECT min(ts_ns) FROM syscalls WHERE name = 'write'")
    assert command.start_ns <= begun <= command.end_ns
