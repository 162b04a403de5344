"""Recordings to be damaged: a told story, a paste, one with a few rows of any value in every table."""

import random
from pathlib import Path

from iowhy.recordings.manifest import Manifest
from iowhy.recordings.schema import Column, tables
from iowhy.recordings.writer import write_recording
from iowhy.tables import sensors
from tests.torture.in_child import call
from tests.whys.made import MS, START, S, Story

FIXTURES = Path(__file__).parents[1] / "sources" / "fixtures"


def story(folder: Path) -> None:
    """A run with something in most tables."""
    made = Story(seconds=2.0).caller("fdatasync", 200, blocked=4 * MS, reason="sync")
    made.requests(300, op="write", service=2 * MS).flushes(200, MS).extents(20, 4096)
    made.cache(lookups=4000, misses=1000).commits(200, 2 * MS).allocations(50, 2)
    made.passes_of_writeback(20, 3, 64).stack(1, "a", "b").machine(0.5).group(cpu_usage_ns=10**9)
    made.write(folder)


def paste(folder: Path) -> None:
    """What `iowhy diagnose` makes of another tool's text."""
    ended = call(["diagnose", "-o", str(folder), str(FIXTURES / "iostat-12-plain.txt")])
    assert ended.status == 0, ended.err


def anything(folder: Path, seed: int = 0, rows: int = 12) -> None:
    """Every table with rows of any values of the right types, times within the run."""
    dice = random.Random(seed)
    made = {
        name: [{column.name: value(dice, column, table.time) for column in table.columns} for _ in range(rows)]
        for name, table in tables().items()
    }  # fmt: skip
    manifest = Manifest.made(
        argv=["any"], start_ns=START, end_ns=START + 2 * S, sensors=list(sensors())
    )
    write_recording(folder, manifest, made)


#: What arithmetic stumbles over.
NUMBERS = (0, 1, -1, 2**63 - 1, -(2**63), 2**62, 2**31, 4096, 10**18)
WORDS = ("read", "write", "fdatasync", "data", "ext4", "sda", "a")
TEXTS = (
    "",
    "read",
    "fdatasync",
    "\x1b[31m",
    "x" * 100_000,
    "'; --",
    "%s",
    "\U0001f600",
    "R",
    "ext4",
)


def value(dice: random.Random, column: Column, time: str | None) -> object:
    """A value of the column's type; NULL where it may be."""
    if column.null is not None and dice.random() < 0.2:
        return None
    if column.name == time and dice.random() < 0.8:
        return START + dice.randrange(2 * S)
    single = column.type.removesuffix("s") if column.type in ("ints", "texts") else column.type
    one: object = dice.choice([0, 1, 2, 4096, dice.randrange(10**9)])
    if single == "text":
        one = dice.choice(WORDS)
    elif single == "bool":
        one = dice.random() < 0.5
    elif single == "float":
        one = dice.choice([0.0, 1.0, 0.5, 12.5])
    return one if single == column.type else [one] * dice.randrange(4)


BASES = {"story": story, "paste": paste, "anything": anything}
