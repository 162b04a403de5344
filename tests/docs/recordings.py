"""`make recordings`: what the pages of causes and the tutorials open, recorded on this machine, which should be quiet, as root.

python -m tests.docs.recordings [NAME…]
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from iowhy.recordings import Recording, open_recording
from iowhy.recordings.writer import write_recording
from iowhy.sources.live import RECORDER, program

FOLDER = Path(__file__).parents[2] / "docs" / "recordings"
#: An absolute path of the interpreter is not looked at by the commands: they run in a directory that says nothing of it.
IOWHY = (sys.executable, "-m", "iowhy")
#: A recording lists what is mounted. What is mounted beside the system is the machine's own affair, and is out of sight here.
_ALONE = (
    "unshare", "--mount", "sh", "-c",
    "findmnt -rno TARGET | grep -E '^/(home|media|mnt|srv|tmp|var/tmp)/' | while read -r at; do umount -l \"$at\"; done; "
    'exec "$@"', "sh",
)  # fmt: skip


#: Texts of other tools' that pages open, too.
_PRINTED = FOLDER.parents[1] / "tests" / "sources" / "fixtures"
_MADE = ("-D_GNU_SOURCE", "-g", "-O1", "-fno-omit-frame-pointer", "-pthread")
_DATA_BYTES = 64 << 20
#: The kernel that a guest boots.
_SUITE = "trixie"
#: The agent's own control group, and that of a service which it watches.
OWN, SERVICE = "iowhy-agent.service", "orders.service"
#: Some 10 s of lines that are made durable one by one, and read again.
_LINES = """
import os, time
input()
end = time.monotonic() + 10
lines = os.open("lines", os.O_CREAT | os.O_RDWR, 0o600)
while time.monotonic() < end:
    for number in range(50):
        os.pwrite(lines, b"one more order" * 64, number * 896)
        os.fsync(lines)
    for number in range(500):
        os.pread(lines, 896, number % 50 * 896)
    time.sleep(0.05)
"""


@dataclass(frozen=True)
class Kept:
    """A recording of docs/recordings: what it is of, as recordings.toml says, and what is found first in it (None: not said)."""

    name: str
    of: Mapping[str, str]
    cause: str | None

    @property
    def path(self) -> Path:
        """The file."""
        return FOLDER / f"{self.name}.iowhy.zip"


def kept() -> list[Kept]:
    """All of them, in the order of recordings.toml."""
    listed = tomllib.loads((FOLDER / "recordings.toml").read_text())
    return [Kept(name, one, one.get("cause")) for name, one in listed.items()]


def main(names: list[str]) -> None:
    """Records and packs those that are named, by itself all."""
    for one in kept():
        if not names or one.name in names:
            print(one.name, flush=True)
            record(one)


def record(one: Kept) -> None:
    """Runs the scenario or the program, or reads the text, and packs what was recorded."""
    with tempfile.TemporaryDirectory(prefix="iowhy-recordings-", dir="/var/tmp") as folder:
        recording = Path(folder) / f"{one.name}.iowhy"
        if "printed" in one.of:
            call(("diagnose", one.of["printed"], "-o", str(recording)), _PRINTED)
        elif "agent" in one.of:
            watch(recording, Path(folder))
        elif "guest" in one.of:
            boot(one.of["guest"], recording)
        elif "program" in one.of:
            words = made(FOLDER.parents[1] / one.of["program"], one.of["words"], Path(folder))
            call(("run", "--stacks", "-o", str(recording), "--", *words), Path(folder))
        else:
            run = ("lab", "run", one.of["scenario"], "--variant", one.of["variant"])
            call((*run, "--keep", str(recording)), Path("/var/tmp"))
        call(("pack", "--force", str(recording), "-o", str(one.path)), Path(folder))
        one.path.chmod(0o644)


def boot(name: str, recording: Path) -> None:
    """What the tests of kernels record by that name in the guest of this suite (tests/kernels; `tools/setup test-kernels` first)."""
    from tests.kernels import __main__ as kernels

    kernels.PLACE.mkdir(exist_ok=True)
    kernels.main(kernels.PLACE, [_SUITE])
    shutil.copytree(kernels.recordings_of(_SUITE) / f"{name}.iowhy", recording)


def watch(recording: Path, folder: Path) -> None:
    """What the agent counts of a service that writes lines and makes each durable, and of itself."""
    kept = folder / "kept"
    kept.mkdir()
    aggregate = (program(RECORDER), "aggregate", "-o", kept, "--every", "2", "--calls")
    # Whoever waits for them is in their group, too: else it would be told of, and with it how this machine is run.
    with control_group(OWN) as own, control_group(SERVICE) as service, being_in(own):
        inside = ("sh", "-c", 'echo $$ > "$0" && exec "$@"', service / "cgroup.procs")
        words = [*inside, sys.executable, "-c", _LINES]
        with (
            subprocess.Popen(words, cwd=folder, stdin=subprocess.PIPE) as lines,
            subprocess.Popen([*_ALONE, *aggregate], stdout=subprocess.PIPE) as agent,
        ):
            assert agent.stdout is not None
            agent.stdout.readline()  # it counts from here on
            lines.communicate(b"begin\n")
            agent.send_signal(signal.SIGINT)
            agent.stdout.read()
    assert lines.returncode == agent.returncode == 0
    (found,) = kept.iterdir()
    write_known_groups(open_recording(found), recording)


def write_known_groups(found: Recording, to: Path) -> None:
    """The recording without the rows of control groups that are not its own two or the root: they tell of what else runs on this machine."""
    known = ", ".join(f"'{path}'" for path in ("/", f"/{OWN}", f"/{SERVICE}"))
    others = f"SELECT cgroup FROM agent_latencies WHERE path NOT IN ({known}) UNION SELECT cgroup FROM agent_counts WHERE path NOT IN ({known})"
    manifest = replace(
        found.manifest, notes=(*found.manifest.notes, "rows of other control groups are left out")
    )
    rows = {}
    with found.connected() as connection:
        for name in (name for name, of in manifest.tables.items() if of.kept):
            of_groups = name in ("agent_latencies", "agent_buckets", "agent_counts")
            where = f"WHERE cgroup IS NULL OR cgroup NOT IN ({others})" if of_groups else ""
            found_rows = connection.execute(f"SELECT * FROM {name} {where}")
            columns = [column for column, *_ in found_rows.description]
            rows[name] = [dict(zip(columns, row, strict=True)) for row in found_rows.fetchall()]
    write_recording(to, manifest, rows)


def _groups() -> Path:
    """Of the memory controller, or the one tree of all."""
    below = Path("/sys/fs/cgroup")
    return below / "memory" if (below / "memory").is_dir() else below


@contextmanager
def control_group(name: str) -> Iterator[Path]:
    """A new control group, which goes with the block."""
    group = _groups() / name
    group.mkdir()
    try:
        yield group
    finally:
        group.rmdir()


@contextmanager
def being_in(group: Path) -> Iterator[None]:
    """This process is in the group meanwhile."""
    mine = Path("/proc/self/cgroup").read_text().splitlines()
    fields = [line.split(":", 2) for line in mine]
    kind = "memory" if _groups().name == "memory" else ""
    (home,) = (path for _, kinds, path in fields if kind in kinds.split(","))
    (group / "cgroup.procs").write_text("0")
    try:
        yield
    finally:
        (_groups() / home.lstrip("/") / "cgroup.procs").write_text("0")


def made(source: Path, words: str, folder: Path) -> tuple[str, ...]:
    """The command of a program that is compiled in the folder, beside a file `data` of its own."""
    subprocess.run(("cc", *_MADE, "-o", folder / source.stem, source), check=True)
    (folder / "data").write_bytes(os.urandom(_DATA_BYTES))
    os.sync()
    return (f"./{source.stem}", *words.split())


def call(words: Sequence[str], folder: Path) -> None:
    """Calls iowhy there, with nothing of this machine in sight. A command inherits its streams: the recording names the files that they are."""
    quiet = {
        "stdin": subprocess.DEVNULL,
        "stdout": subprocess.DEVNULL,
        "stderr": subprocess.DEVNULL,
    }
    subprocess.run([*_ALONE, *IOWHY, *words], check=True, cwd=folder, **quiet)  # type: ignore[call-overload]


if __name__ == "__main__":
    main(sys.argv[1:])
