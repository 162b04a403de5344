"""An allocation fails, or a read or write of a file (EIO, ENOSPC), the n-th and perhaps all later ones: readers here, recorder and agent as root.

Whatever fails, a command ends right, or with one clear error: no traceback, no signal, no half-written file, and the next one is right.
"""

import contextlib
import ctypes
import errno
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import pyarrow.parquet as pq
from msgspec import Struct

from iowhy.errors import Problem
from iowhy.recordings import open_recording
from tests.torture.in_child import Ended, call, prepare
from tests.torture.report import Tally

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
FIXTURES = ROOT / "tests" / "sources" / "fixtures"
ONE_ROW = ROOT / "docs" / "recordings" / "one-row.iowhy.zip"
KINDS = {"memory": (1, errno.ENOMEM), "reads": (2, errno.EIO), "writes": (3, errno.EIO), "space": (3, errno.ENOSPC)}  # fmt: skip
#: The n-th of so many at most: what a reader needs.
MOST = {"memory": 400_000, "reads": 1_000, "writes": 60, "space": 60}

MOST_OF_RECORDERS = {"memory": 60_000, "reads": 300, "writes": 60, "space": 60}
COMMAND = "for _ in 1 2 3; do dd if=/dev/zero of=$0 bs=4k count=50 conv=fsync 2>&-; sleep .1; done; exit 3"
AGENT_S = 4.0
#: The agent's process alone counts, from where Python has begun on.
MAIN = "import sys; from iowhy.cli.main import main; {armed}sys.argv[0] = 'iowhy'; main()"
ARMED = "import ctypes, os; ctypes.CDLL(os.environ['LD_PRELOAD']).iowhy_fail({kind}, ctypes.c_long({nth} + 2), {every}, {error}); "
AGENT = """
[agent]
directory = "{root}"
every = "1 s"
rotate = "2 s"
"""


class Failing(Struct, frozen=True):
    """What fails: the `nth` of a kind, and all later ones if `every`."""

    kind: str
    nth: int
    every: bool

    def __str__(self) -> str:
        return f"{self.kind} {self.nth} {'all' if self.every else 'once'}"


def failing(dice: random.Random, most: dict[str, int]) -> Failing:
    """Any; small ones as often as large ones."""
    kind = dice.choice(["memory", "memory", "reads", "reads", "writes", "space"])
    return Failing(kind, round(most[kind] ** dice.random()), dice.random() < 0.5)


def library(folder: Path) -> Path:
    """failing.c, compiled."""
    made = folder / "failing.so"
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", made, HERE / "failing.c"], check=True)
    return made


def run(seed: int, end: float, most: int | None = None) -> Tally:
    """Failures until `end`, or `most` of them."""
    tally = Tally("failures", seed)
    with tempfile.TemporaryDirectory(prefix="iowhy-torture-") as name:
        folder = Path(name)
        preloaded = {"LD_PRELOAD": str(library(folder)), "PYTHONMALLOC": "malloc", "TMPDIR": name}
        words = [str(seed), str(max(0.0, end - time.monotonic())), str(most or 10**9), name]
        with subprocess.Popen(
            [sys.executable, "-m", "tests.torture.failures", *words],
            cwd=ROOT, env={**os.environ, **preloaded}, stdout=subprocess.PIPE, text=True,
        ) as readers:  # fmt: skip
            assert readers.stdout is not None
            for line in readers.stdout:
                number, what, failed, why = json.loads(line)
                tally.counts["tries"] += 1
                tally.counts[f"{what} failed" if failed else "got through"] += 1
                if why is not None:
                    tally.fail(number, why)
        if readers.returncode:
            tally.fail(seed, f"the readers ended with {readers.returncode}")
    return tally


def run_recorders(seed: int, end: float, most: int | None = None) -> Tally:
    """The same of the recorder, every fourth time of the agent; as root."""
    tally = Tally("failing recorders", seed)
    if os.geteuid() != 0:
        tally.counts["recorders (not root)"] = 0
        return tally
    with tempfile.TemporaryDirectory(prefix="iowhy-torture-") as name:
        made, number = library(Path(name)), seed
        while time.monotonic() < end and number < seed + (most or 10**9):
            dice, folder = random.Random(number), Path(name) / str(number)
            folder.mkdir()
            what = failing(dice, MOST_OF_RECORDERS)
            one = _agent if number % 4 == 3 else _recorder
            why = one(folder, {"LD_PRELOAD": str(made), "IOWHY_FAIL": str(what)}, what)
            tally.counts[one.__name__[1:] + "s"] += 1
            tally.counts[what.kind] += 1
            if why is not None:
                tally.fail(number, f"{one.__name__[1:]}: {what}: {why}")
            shutil.rmtree(folder, ignore_errors=True)
            number += 1
    return tally


def _recorder(folder: Path, preloaded: dict[str, str], what: Failing) -> str | None:
    """Records a command by iowhy, whose recorder fails: the command keeps its status."""
    out = folder / "a.iowhy"
    done = subprocess.run(
        [sys.executable, "-m", "iowhy", "run", "-o", out, "--", "sh", "-c", COMMAND, folder / "data"],
        env={**os.environ, **preloaded, "IOWHY_FAIL_IN": "iowhy-record", "PYTHONPATH": os.pathsep.join(sys.path)},
        stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", check=False, timeout=120,
    )  # fmt: skip
    said = done.stderr
    # 125: the recording could not begin, so the command did not; where the recorder itself got no memory, its end is said.
    not_begun = (125, 128 + signal.SIGABRT) if what.kind == "memory" else (125,)
    if done.returncode != 3 and (done.returncode not in not_begun or "iowhy: " not in said):
        return f"status {done.returncode}: {said[-400:]!r}"
    if done.returncode in not_begun and (folder / "data").exists():
        return f"the command ran, and its status is lost: {said[-400:]!r}"
    if "Traceback" in said or "panicked" in said:
        return f"{said[-400:]!r}"
    return None if not out.exists() else _unreadable([out])


def _agent(folder: Path, preloaded: dict[str, str], what: Failing) -> str | None:
    """An agent fails, in Python; the next one takes over what it left."""
    root = folder / "kept"
    (folder / "agent.toml").write_text(AGENT.format(root=root))
    kind, error = KINDS[what.kind]
    for nth in (what.nth, 0):
        armed = ARMED.format(kind=kind, nth=nth, every=int(what.every), error=error) if nth else ""
        with subprocess.Popen(
            [sys.executable, "-c", MAIN.format(armed=armed), "agent", "run", "-c", folder / "agent.toml"],
            env={**os.environ, **(preloaded if nth else {}), "PYTHONMALLOC": "malloc", "PYTHONPATH": os.pathsep.join(sys.path)},
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
        ) as agent:  # fmt: skip
            with contextlib.suppress(subprocess.TimeoutExpired):
                agent.wait(AGENT_S)
            agent.send_signal(signal.SIGTERM)
            said, _ = agent.communicate(timeout=120)
        if "Traceback" in said or "panicked" in said or agent.returncode < 0:
            return f"status {agent.returncode}: {said[-600:]!r}"
        if agent.returncode and (not nth or "iowhy" not in said):
            return f"status {agent.returncode}: {said[-600:]!r}"
    return _unreadable([*root.glob("date=*/host=*/*.iowhy")])


def _unreadable(paths: list[Path]) -> str | None:
    for path in paths:
        try:
            open_recording(path)
            for file in path.glob("*/*.parquet"):
                pq.read_table(file)
        except (Problem, OSError, ValueError) as error:
            return f"cannot be read: {error}"
    return None


class _Readers:
    """Commands that read, forked from a process in which the library is."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.recording = folder / "one-row.iowhy"
        shutil.unpack_archive(ONE_ROW, folder)
        self.library = ctypes.CDLL(os.environ["LD_PRELOAD"])
        self.right: dict[str, tuple[Ended, dict[str, bytes]]] = {}

    def words(self, dice: random.Random) -> list[str]:
        rec, out = str(self.recording), "out"
        return dice.choice(
            [
                ["why", rec],
                ["why", rec],
                ["why", rec, "--json"],
                ["report", "syscalls", rec],
                ["report", "budget", rec, "--format", "csv", "-o", f"{out}.csv"],
                ["sql", rec, "SELECT name, count(*) FROM syscalls GROUP BY 1 ORDER BY 1", "--format", "json"],
                ["sql", rec, "FROM waits", "--format", "parquet", "-o", f"{out}.parquet"],
                ["html", rec, "-o", f"{out}.html"],
                ["pack", rec, "-o", f"{out}.iowhy.zip"],
                ["check", rec],
                ["compare", rec, rec],
                ["diagnose", str(FIXTURES / "iostat-12-plain.txt"), "-o", f"{out}.iowhy"],
            ]
        )  # fmt: skip

    def tried(
        self, words: list[str], cache: Path, what: Failing | None
    ) -> tuple[Ended, dict[str, bytes]]:
        """How it ended, and the files that it left, in an empty folder."""
        here = self.folder / "here"
        here.mkdir()
        os.environ["XDG_CACHE_HOME"] = str(cache)

        def before() -> None:
            os.chdir(here)
            if what is not None:
                kind, error = KINDS[what.kind]
                own = 2  # what this call itself allocates
                self.library.iowhy_fail(kind, ctypes.c_long(what.nth + own), int(what.every), error)

        ended = call(words, before)
        left = {
            str(path.relative_to(here)): path.read_bytes()
            for path in sorted(here.rglob("*"))
            if path.is_file()
        }
        shutil.rmtree(here)
        return ended, left

    def one(self, seed: int) -> tuple[str, bool, str | None]:
        dice = random.Random(seed)
        words, what = self.words(dice), failing(dice, MOST)
        shown = " ".join(words).replace(str(self.folder), "")
        if shown not in self.right:
            self.right[shown] = self.tried(words, self.folder / f"cache {shown[:20]}", None)
        right, whole = self.right[shown]
        cache = self.folder / f"cache-{seed}"
        cache.mkdir(mode=0o700)
        ended, left = self.tried(words, cache, what)
        failed = bool(self.library.iowhy_has_failed())
        if what.every and ended.status == -signal.SIGABRT and "std::bad_alloc" in ended.err:
            # DuckDB's threads end the process where they get no memory at all; nothing is left of it.
            return (
                "memory, which DuckDB gave up on,",
                failed,
                f"files: {sorted(left)}" if left else None,
            )
        why = _wrong(ended, left, right, whole)
        if why is None and dice.random() < 0.3:
            ended, left = self.tried(words, cache, None)
            again = _wrong(ended, left, right, whole)
            again = again or (None if ended.status == right.status else f"status {ended.status}: {ended.err[-300:]!r}")  # fmt: skip
            why = None if again is None else f"then, though nothing fails: {again}"
        shutil.rmtree(cache, ignore_errors=True)
        return what.kind, failed, None if why is None else f"iowhy {shown}: {what}: {why}"


def _wrong(
    ended: Ended, left: dict[str, bytes], right: Ended, whole: dict[str, bytes]
) -> str | None:
    why = ended.why_wrong(frozenset({right.status, 2}))
    if why is None and ended.status == right.status and ended.out != right.out:
        return f"another answer: {ended.out[:300]!r}"
    if why is None and ended.status == right.status and left.keys() != whole.keys():
        return f"files: {sorted(left)}"
    if why is None and ended.status == 2 and left:
        return f"files are left: {sorted(left)}"
    return why


def _readers(seed: int, seconds: float, most: int, folder: Path) -> None:
    prepare()
    readers, end = _Readers(folder), time.monotonic() + seconds
    number = seed
    while time.monotonic() < end and number < seed + most:
        print(json.dumps([number, *readers.one(number)]), flush=True)
        number += 1


def main(words: Sequence[str]) -> None:
    """As it is started with the library."""
    seed, seconds, most, folder = words
    _readers(int(seed), float(seconds), int(most), Path(folder))


if __name__ == "__main__":
    main(sys.argv[1:])
