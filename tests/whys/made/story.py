"""The whole story, and the recording that is made of it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Self

from iowhy.recordings import Recording
from iowhy.recordings.manifest import Host, Manifest, Sensor
from iowhy.recordings.writer import write_recording
from iowhy.tables import sensors
from tests.in_memory import in_memory

from .base import FILE, GIB, MIB, PAGE, START, S
from .cache import Cache
from .device import Device
from .files import Files
from .machine import Machine
from .threads import Threads


@dataclass
class Story(Threads, Files, Cache, Device, Machine):
    """Rows of a recording; every method adds to them and returns the story."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.device()
        self.file(FILE, "/data/file", 64 * MIB)

    def stall(
        self,
        at: float,
        seconds: float,
        reason: str = "page_read",
        call: str = "read",
        op: str = "read",
    ) -> Self:
        """The disk answers nobody: it has one request, for which thread 10 waits in one call, and nothing else begins or ends."""
        begin, end = START + round(at * S), START + round((at + seconds) * S)
        outside = {"block_requests": "complete_ns", "waits": "ts_ns", "syscalls": "ts_ns"}
        for table, column in outside.items():
            rows = self.tables.get(table, [])
            rows[:] = [row for row in rows if not begin <= row[column] <= end]  # type: ignore[operator]
        for row in self.tables["thread_time"]:
            if begin <= row["ts_ns"] < end:  # type: ignore[operator]
                idle = dict.fromkeys(
                    ("cpu_user_ns", "cpu_kernel_ns", "runnable_ns", "sleeping_ns"), 0
                )
                row |= {**idle, "blocked_ns": row["interval_ns"]}
        self.requests(1, op=op)
        self.tables["block_requests"][-1] |= {
            "queue_ns": begin,
            "issue_ns": begin,
            "complete_ns": end,
        }
        return self.wait(begin, end - begin, reason, call)

    def write(self, folder: Path) -> Recording:
        """The recording, in files."""
        return write_recording(folder, self._manifest(), self.tables)

    def made(self, folder: Path) -> Recording:
        """The recording, in memory, as if it were there."""
        return in_memory(folder, self._manifest(), self.tables)

    def _manifest(self) -> Manifest:
        if "cpu_samples" not in self.tables and "cpu_samples" not in self.missing:
            self.machine()
        ran = [
            Sensor(
                name, name not in self.missing, "not permitted" if name in self.missing else None
            )
            for name in sensors()
        ]
        return Manifest.made(
            argv=list(self.argv),
            mode=self.mode,
            start_ns=START,
            end_ns=START + self.elapsed,
            sensors=ran,
            host=Host(cpus=self.cpus, memory_bytes=8 * GIB, page_bytes=PAGE),
            exit_status=0,
        )
