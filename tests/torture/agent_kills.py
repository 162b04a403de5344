"""kill -9 of the agent, what counts for it, or all of it, at random moments: what it had recorded is there, whole or up to the
last seconds, within its bound, and a trigger counts once. Half of the agents record fully all the time (`--black-box`), half of them upload what they
keep, to a real S3 API.

Needs root and eBPF tracepoints.
"""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from iowhy.agent import retention
from iowhy.agent.black_box import TAKEN, folder_of
from iowhy.errors import Problem
from iowhy.recordings import open_recording
from tests.object_store import KEYS, object_store, put, sizes
from tests.torture.report import Tally
from tests.torture.traces import MARK, is_recorder, marked, none_left

#: At the same time: most of a kill is waiting.
AT_ONCE = 4
BUCKET = "kept"
#: Until the kill, at most.
LATEST_S = 5.0
PATIENCE_S = 60.0
#: Of what is recorded fully all the time, a trigger's recording has seconds of the whole machine.
KEPT_BYTES, BOXED_BYTES = 2 * 2**20, 24 * 2**20
FILE = """
[agent]
directory = "{root}"
every = "1 s"
rotate = "2 s"
record = "1 s"
cool-down = "1 s"
keep-size = "{keep}"
"""
BOX = 'black-box = "2 s"\nblack-box-size = "18MiB"\n'


def run(seed: int, end: float, most: int | None = None) -> Tally:
    """Kills until `end`, or `most` of them."""
    tally = Tally("agent", seed)
    if os.geteuid() != 0:
        tally.counts["kills (not root)"] = 0
        return tally
    with (
        tempfile.TemporaryDirectory(prefix="iowhy-torture-") as folder,
        object_store(Path(folder) / "store") as address,
        ThreadPoolExecutor(AT_ONCE) as pool,
    ):
        put(address, BUCKET, Path(folder) / "nothing")

        def one(number: int) -> None:
            if time.monotonic() < end:
                _one(tally, Path(folder) / str(number), number, address)

        list(pool.map(one, range(seed, seed + (most or 200))))
    return tally


def _one(tally: Tally, folder: Path, seed: int, address: str) -> None:
    dice = random.Random(seed)
    folder.mkdir()
    root = folder / "kept"
    boxed, uploads = dice.random() < 0.5, dice.random() < 0.5
    bound = BOXED_BYTES if boxed else KEPT_BYTES
    lines = FILE.format(root=root, keep=bound) + (BOX if boxed else "")
    lines += f'upload = "s3://{BUCKET}/{seed}"\n' if uploads else ""
    (folder / "agent.toml").write_text(lines)
    box = folder_of(root)
    mark = f"{os.getpid()}-{seed}"
    asked = dice.randint(0, 2)
    victim = _killed(folder, mark, address, dice, asked)
    left = none_left(mark, PATIENCE_S)
    why = f"{len(left)} processes did not end" if left else None
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    tally.counts["kills"] += 1
    tally.counts[f"of {victim}"] += 1
    tally.counts["with a black box"] += boxed
    tally.counts["with uploads"] += uploads
    open_ = [*root.glob(".open/*"), *box.glob(f"{TAKEN}*{retention.SUFFIX}")]
    before = [path for path in open_ if (path / "manifest.json").exists()]
    seen = list(root.glob("date=*/host=*/*.iowhy"))
    why = why or _unreadable(seen)
    # The next agent takes over, and ends as it should.
    status, said = _started(folder, mark, address, 2.0)
    kept = list(root.glob("date=*/host=*/*.iowhy"))
    gone = said.count("removed to stay within bounds")
    tally.counts["recordings"] += len(kept)
    why = why or _unreadable(kept)
    if why is None and status != 0:
        why = f"the next one ended with status {status}"
    if why is None and len(kept) + gone < len(seen) + len(before):
        why = f"lost: {len(seen)} and {len(before)} open before, {len(kept)} and {gone} taken away after"
    if why is None and (any((root / retention.OPEN).iterdir()) or (root / retention.GONE).exists()):
        why = "something is left where recordings are made"
    if why is None and box.exists():
        why = "something is left in memory"
    shutil.rmtree(box, ignore_errors=True)
    if why is None and sum(one.bytes for one in retention.kept(root)) > bound:
        why = "more is kept than may be"
    state = root / ".state.json"
    started = sum(json.loads(state.read_text())["started"].values()) if state.exists() else 0
    if why is None and started > asked:
        why = f"{started} recordings counted, {asked} asked for"
    if why is None and uploads:
        why = _half_stored(tally, address, root, seed)
    if why is not None:
        tally.fail(seed, f"kill of {victim}: {why}; {said[-300:]!r}")


def _half_stored(tally: Tally, address: str, root: Path, seed: int) -> str | None:
    """What is stored and has a manifest is what is kept, file by file."""
    stored = sizes(address, BUCKET, str(seed))
    for manifest in [name for name in stored if name.endswith("/manifest.json")]:
        tally.counts["recordings stored"] += 1
        recording = root / Path(manifest).relative_to(str(seed)).parent
        for file in recording.rglob("*") if recording.exists() else ():
            name = f"{seed}/{file.relative_to(root)}"
            # A recorder that is killed leaves a reserve of room, which is nobody's.
            of_rows = file.suffix == ".parquet" and file.is_file()
            if of_rows and stored.get(name) != file.stat().st_size:
                return f"{name} is stored with {stored.get(name)} bytes of {file.stat().st_size}"
    return None


def _agent(folder: Path, mark: str, address: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "iowhy", "agent", "run", "-c", str(folder / "agent.toml")],
        env={**os.environ, **KEYS, "AWS_ENDPOINT_URL": address, MARK: mark, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
    )  # fmt: skip


def _ready(agent: subprocess.Popen[str]) -> None:
    """It takes signals from its first line on."""
    assert agent.stdout is not None
    agent.stdout.readline()
    time.sleep(0.5)


def _killed(folder: Path, mark: str, address: str, dice: random.Random, asked: int) -> str:
    """Runs one, asks it for recordings, kills it; says who was killed."""
    agent = _agent(folder, mark, address)
    _ready(agent)
    for _ in range(asked):
        time.sleep(dice.uniform(0, LATEST_S / 3))
        agent.send_signal(signal.SIGUSR1)
    time.sleep(dice.uniform(0, LATEST_S / 2))
    victim = dice.choice(["agent", "recorders", "all"])
    for pid in marked(mark):
        if victim == "all" or (victim == "recorders") == is_recorder(pid):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    agent.communicate()
    return victim


def _started(folder: Path, mark: str, address: str, seconds: float) -> tuple[int, str]:
    agent = _agent(folder, mark, address)
    _ready(agent)
    time.sleep(seconds)
    agent.send_signal(signal.SIGTERM)
    said, _ = agent.communicate()
    return agent.returncode, said


def _unreadable(paths: list[Path]) -> str | None:
    try:
        for path in paths:
            open_recording(path)
    except Problem as problem:
        return str(problem)
    return None
