"""The terminal output of all commands, of made recordings without times or paths of this machine."""

import shutil
from pathlib import Path

import pytest

from benchmarks.generated import generate
from iowhy.cli._commands import COMMANDS
from iowhy.lab import verify
from iowhy.recordings import box
from iowhy.recordings.manifest import Sensor
from iowhy.reports import reports
from tests.doctor.machines import BTF, DOCKER_RIGHTS, NO_RIGHTS, RAN, machine, refused
from tests.lab.test_verify import HDD, trial
from tests.lab.test_verify import scenario as lab_scenario
from tests.snapshots.screens import hold, screen
from tests.whys.made import KIB, MS, Story

FIXTURES = Path(__file__).parents[1]
WIDTHS = (80, 100, 160)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, empty; no reports of the user's own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", "config")
    monkeypatch.setenv("IOWHY_STATE", "state")
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.setattr("iowhy.whys.typed.as_root", lambda: "sudo iowhy")
    return tmp_path


def syncing(seconds: float = 4.0, calls: int = 400) -> Story:
    """Small synced writes: nearly all of the time waits for the device."""
    story = Story(seconds=seconds)
    story.caller("fsync", calls, blocked=9 * MS, reason="device_flush", bytes_=None, gap_share=0.0)
    return story.requests(calls, op="write", bytes_=4 * KIB, jump=True).flushes(calls, 4 * MS)


def reading() -> Story:
    """Reads from everywhere in a file, while another thread computes."""
    story = Story(seconds=4.0).thread(tid=20, user=0.2)
    story.caller("pread64", 400, blocked=8 * MS, bytes_=4 * KIB, jump=True)
    return story.requests(400, op="read", bytes_=4 * KIB, jump=True)


def computing() -> Story:
    return Story(seconds=0.5).thread(user=0.97)


def test_help() -> None:
    inner = [("lab", name) for name in ("list", "run", "verify", "clean")]
    hold(
        "help",
        [screen("--help"), *(screen("help", name) for name in COMMANDS)]
        + [screen("help", *words) for words in inner],
    )


def test_verdicts() -> None:
    syncing().write(Path("sync.iowhy"))
    reading().write(Path("read.iowhy"))
    computing().write(Path("compute.iowhy"))
    hold(
        "verdicts",
        [
            *(screen("why", "sync.iowhy", columns=columns) for columns in WIDTHS),
            screen("why", "read.iowhy", "--all"),
            screen("why", "compute.iowhy"),
        ],
    )


def test_reports() -> None:
    generate(Path("generated.iowhy"), 2_000)
    few = ("--limit", "6")
    widths = [screen("report", "files", "generated.iowhy", *few, columns=one) for one in WIDTHS]
    each = [screen("report", name, "generated.iowhy", *few) for name in reports()]
    asked = "SELECT name, count(*) AS calls, sum(dur_ns) AS total_ns FROM syscalls GROUP BY name ORDER BY name"
    drawn = ("generated.iowhy", "--device", "loop0")
    bars = [screen("report", "request-latency", *drawn, columns=one, most=20) for one in WIDTHS]
    bars.append(screen("report", "request-size", *drawn, most=12))
    hold("reports", [*widths, *each, screen("sql", "generated.iowhy", asked), *bars])


def test_comparisons() -> None:
    syncing().write(Path("before.iowhy"))
    syncing(2.0, 150).write(Path("between.iowhy"))
    computing().write(Path("after.iowhy"))
    hold(
        "comparisons",
        [
            *(screen("compare", "before.iowhy", "after.iowhy", columns=one) for one in (80, 100)),
            screen("compare", "--baseline", "before.iowhy", "between.iowhy", "after.iowhy"),
            screen("compare", "--fail-on-regression", "5%", "after.iowhy", "before.iowhy"),
        ],
    )


def test_experiments() -> None:
    shutil.copy(FIXTURES / "experiment/fixtures/android-squeeze.csv", "squeeze.csv")
    hold(
        "experiments",
        [screen("experiment", "--from", "squeeze.csv", columns=one) for one in (80, 100)],
    )


def test_diagnoses() -> None:
    texts = FIXTURES / "sources/fixtures"
    for name in ("iostat-12-x.txt", "free-3.2.txt", "pidstat-12-d-u.txt"):
        shutil.copy(texts / name, name)
    shutil.copy(texts / "traces/strace-f-ttt-T-y.txt", "strace.txt")
    Path("incident.txt").write_text(
        "It hangs again since the update.\n\n$ iostat -x 1\n" + Path("iostat-12-x.txt").read_text()
    )
    hold(
        "diagnoses",
        [
            *(
                screen(
                    "diagnose", "incident.txt", "free-3.2.txt", "-o", f"{one}.iowhy", columns=one
                )
                for one in WIDTHS
            ),
            screen("diagnose", "pidstat-12-d-u.txt"),
            screen("diagnose", "strace.txt"),
        ],
    )


def test_lists_and_checks() -> None:
    syncing().write(Path("sync.iowhy"))
    whole = screen("check", "sync.iowhy")
    next(Path("sync.iowhy/syscalls").glob("*.parquet")).write_bytes(b"PAR1")
    hold(
        "lists",
        [
            screen("report", "--list", most=5),
            screen("diagnose", "--list", most=5),
            screen("lab", "list", most=12),
            screen("lab", "list", "smallfiles"),
            screen("sql", "sync.iowhy", "--list", most=8),
            whole,
            screen("check", "sync.iowhy"),
        ],
    )


def test_what_is_written_and_fleets() -> None:
    for number in range(2):
        syncing().write(Path(f"fleet/{number}.iowhy"))
    computing().write(Path("fleet/2.iowhy"))
    syncing().write(Path("sync.iowhy"))
    written = [
        screen("export", "sync.iowhy", "-o", "sync.trace"),
        screen("export", "sync.iowhy", "--to", "folded", "-o", "-", most=3),
        screen("symbolize", "sync.iowhy"),
        screen("fleet", "report", "--list", most=5),
        screen("fleet", "report", "causes", "fleet"),
        screen("fleet", "check", "fleet"),
    ]
    next(Path("fleet/1.iowhy/syscalls").glob("*.parquet")).write_bytes(b"PAR1")
    hold("written", [*written, screen("fleet", "check", "fleet")])


def test_the_agent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("iowhy.agent.starting.check", lambda _: None)  # it would count
    Path("agent.toml").write_text(
        '[agent]\ndirectory = "/srv/iowhy"\n[triggers]\nslow-fsync = "fsync p99 > 50 ms for 10 s"\n'
        'stuck = "threads in D > 8"\n'
    )
    wrong = {
        "key.toml": "[agent]\nkeep = 1\n",
        "trigger.toml": '[triggers]\nslow = "fsync p99 > soon"\n',
        "toml.toml": "[agent\n",
    }
    for name, text in wrong.items():
        Path(name).write_text(text)
    hold(
        "agent",
        [
            *(screen("help", "agent", *one) for one in ((), ("run",), ("trigger",), ("check",))),
            screen("agent", "check", "-c", "agent.toml"),
            *(screen("agent", "check", "-c", name) for name in (*wrong, "nowhere.toml")),
            screen("agent", "trigger", "nowhere"),
            screen("agent", "show"),
        ],
    )


def test_a_lab_that_was_verified(monkeypatch: pytest.MonkeyPatch) -> None:
    right = lab_scenario()
    wrong = lab_scenario(("flush-cost",), fixed=None)
    lacking = verify.Check(
        lab_scenario(), HDD, None, None, (), (), "no-such-program is not installed"
    )
    found = [
        verify.check(right, HDD, trial("sync-storm", 0.9), trial("healthy", 0.0, 1.0)),
        verify.check(wrong, HDD, trial("cpu-serial", 0.4), None),
        lacking,
    ]
    monkeypatch.setattr("iowhy.lab.stage.check_rights", lambda: None)
    monkeypatch.setattr("iowhy.lab.verify.verify", lambda *_, **__: iter(found))
    hold("lab", [screen("lab", "verify", "smallfiles", columns=one) for one in (80, 100)])


def test_doctor(monkeypatch: pytest.MonkeyPatch) -> None:
    missing = Sensor(
        "journal_xfs", False, "no tracepoint xfs_log_force: xfs is not loaded, or lacks it"
    )
    cases = [
        machine(Path("good")),
        machine(Path("module"), sensors=(*RAN, missing)),
        machine(Path("user"), capabilities=NO_RIGHTS, user_id=1000, sensors=refused("not permitted")),
        machine(
            Path("docker"),
            {".dockerenv": ""},
            capabilities=DOCKER_RIGHTS,
            seccomp=2,
            sensors=refused("not permitted"),
        ),
        machine(Path("old"), release="4.9.0-19-amd64", without=[BTF], sensors=refused("no BTF")),
    ]  # fmt: skip
    monkeypatch.setattr("iowhy.doctor.checks.rights.as_root", lambda: "sudo iowhy")
    monkeypatch.setattr("iowhy.sources.statements.readable", tuple)  # whichever run on this machine
    monkeypatch.setattr(box, "available", lambda: box.Box(6, True))
    screens = []
    for one in cases:
        monkeypatch.setattr("iowhy.doctor.machine.this_machine", lambda _, one=one: one)
        screens.append(screen("doctor"))
    hold("doctor", [*screens, screen("doctor", "--json")])


def test_errors() -> None:
    Path("keep.txt").write_text("mine")
    Path("noise.bin").write_bytes(bytes(range(256)))
    Path("empty.txt").touch()
    computing().write(Path("made.iowhy"))
    calls = [
        ["nonsense"],
        ["wyh"],
        ["run"],
        ["run", "--nope", "ls"],
        ["run", "-p", "x"],
        ["run", "-a", "--duration", "soon"],
        ["run", "-a", "--duration", "5", "minutes"],
        ["run", "-o", "/proc/x.iowhy", "ls"],
        ["run", "-o", "made.iowhy", "ls"],
        ["run", "-o", "nowhere/x.iowhy", "ls"],
        ["why", "nowhere.iowhy"],
        ["why", "made"],
        ["why", "keep.txt"],
        ["why", "made.iowhy", "other.iowhy"],
        ["report", "nope", "made.iowhy"],
        ["report", "files"],
        ["report", "files", "made.iowhy", "--since", "soon"],
        ["report", "files", "made.iowhy", "--since", "9s", "--until", "2s"],
        ["report", "files", "made.iowhy", "--file", "nothing"],
        ["report", "files", "made.iowhy", "--format", "csv", "-o", "keep.txt"],
        ["sql", "made.iowhy", "SELEC 1"],
        ["sql", "made.iowhy", "SELECT nope FROM syscalls"],
        ["sql", "made.iowhy", "SELECT sum(name) FROM syscalls"],
        ["sql", "made.iowhy", "FROM syscall"],
        ["sql", "made.iowhy", "ATTACH 'x'"],
        ["diagnose"],
        ["diagnose", "nowhere.txt"],
        ["diagnose", "made.iowhy"],
        ["diagnose", "keep.txt"],
        ["diagnose", "noise.bin"],
        ["diagnose", "empty.txt"],
        ["diagnose", "keep.txt", "--as", "nope"],
        ["experiment"],
        ["experiment", "cpu-pni", "true"],
        ["experiment", "nosuchcommand"],
        ["experiment", "cpu-quota=2", "true"],
        ["experiment", "-p", "rm -f x", "true"],
        ["experiment", "--cache", "hot", "true"],
        ["compare", "made.iowhy"],
        ["compare", "made.iowhy", "nowhere.iowhy"],
        ["compare", "--fail-on-regression", "much", "a", "b"],
        ["html", "made.iowhy", "-o", "/dev/full"],
        ["lab", "run", "nope"],
        ["check", "keep.txt"],
    ]
    hold("errors", [screen(*words) for words in calls])
