"""What all parts of a story have: its length, its rows, and the one file system on the one disk."""

import random
from dataclasses import dataclass, field
from typing import Self

MS = 1_000_000
S = 1_000 * MS
KIB = 1024
MIB = 1024 * KIB
GIB = 1024 * MIB
START = 1_000 * S
STEP = 100 * MS
PAGE = 4096

DISK = 8 << 20
FS = 8 << 20 | 1
FILE = 101

Row = dict[str, object]


@dataclass
class Rows:
    """Rows of a recording; every method adds to them and returns the story."""

    seconds: float = 4.0
    cpus: int = 4
    tables: dict[str, list[Row]] = field(default_factory=dict)
    missing: set[str] = field(default_factory=set)
    seed: int = 7
    cpu_share: float = 0.0
    recorder_cpu_ns: int = 0
    argv: tuple[str, ...] = ("made",)
    mode: str = "run"

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)

    @property
    def elapsed(self) -> int:
        """Length of the run in nanoseconds."""
        return round(self.seconds * S)

    def add(self, table: str, **row: object) -> Self:
        """One row, as it is."""
        self.tables.setdefault(table, []).append(row)
        return self
