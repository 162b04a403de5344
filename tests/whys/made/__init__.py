"""Recordings made by story, with known answers.

A story is threads that do the same thing evenly over the run, so that every interval looks alike and
the shares are known in advance: "one thread reads 4 KiB at a time in order, 0.5 ms each".
"""

from .base import DISK, FILE, FS, GIB, KIB, MIB, MS, PAGE, START, STEP, Row, S
from .jobs import job
from .pasted import disk, pasted, samples
from .story import Story

__all__ = [
    "DISK", "FILE", "FS", "GIB", "KIB", "MIB", "MS", "PAGE", "START", "STEP", "Row", "S", "Story", "disk", "job", "pasted",
    "samples",
]  # fmt: skip
