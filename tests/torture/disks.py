"""Disks that are full when a recording begins, or become so: the command keeps its status, what was closed stays readable."""

import os
import random
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import pyarrow.parquet as pq

from iowhy.errors import Problem
from iowhy.recordings import open_recording
from iowhy.sources.live import RECORDER, program
from tests.torture.report import Tally

KIB = 1024
#: Many calls, so that tables grow; then it takes the space that is left, and ends with a status of its own.
COMMAND = """
import os, sys
for _ in range(int(sys.argv[2])):
    os.stat("/")
try:
    with open(sys.argv[1], "wb") as file:
        for _ in range(int(sys.argv[3])):
            file.write(bytes(4096))
            file.flush()
except OSError:
    pass
for _ in range(int(sys.argv[2])):
    os.stat("/")
raise SystemExit(3)
"""


def run(seed: int, end: float, most: int | None = None) -> Tally:
    """Full disks until `end`, or `most` of them."""
    tally = Tally("full disks", seed)
    if os.geteuid() != 0:
        tally.counts["disks (not root)"] = 0
        return tally
    number = seed
    with tempfile.TemporaryDirectory(prefix="iowhy-torture-") as folder:
        while time.monotonic() < end and (most is None or number < seed + most):
            disk = Path(folder) / str(number)
            disk.mkdir()
            dice = random.Random(number)
            size = dice.choice([16, 64, 256, 1024, 8192]) * KIB
            subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", disk], check=True)  # fmt: skip
            try:
                _one(tally, disk, size, number, dice)
            finally:
                subprocess.run(
                    ["umount", "--lazy", disk], check=True
                )  # who asks filesystems may have it open still
            number += 1
    return tally


def _one(tally: Tally, disk: Path, size: int, seed: int, dice: random.Random) -> None:
    pages = dice.choice([0, size // 4096, 2 * size // 4096])
    words = [str(dice.choice([10, 10_000, 300_000])), str(pages)]
    done = subprocess.run(
        [program(RECORDER), "run", "-o", disk / "a.iowhy", "--", shutil.which("python3") or "python3",
         "-I", "-S", "-c", COMMAND, disk / "own", *words],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", check=False,
    )  # fmt: skip
    tally.counts["disks"] += 1
    said = done.stderr.strip()
    if "iowhy:" in said:
        tally.counts["where the recording broke off"] += 1
    # 125: the recording could not begin, so the command did not.
    began = done.returncode == 3
    if not began and not (done.returncode == 125 and "iowhy: " in said):
        tally.fail(seed, f"status {done.returncode}: {said[-300:]!r}")
    if "panicked" in said or len(said.splitlines()) > 2:
        tally.fail(seed, f"no one clear error: {said[-300:]!r}")
    if not (disk / "a.iowhy" / "manifest.json").exists():
        if began:
            tally.fail(seed, "the command ran, and there is no manifest")
        return
    try:
        open_recording(disk / "a.iowhy")
        for file in (disk / "a.iowhy").glob("*/*.parquet"):
            pq.read_table(file)
    except (Problem, OSError, ValueError) as error:
        tally.fail(seed, f"cannot be read: {error}")
