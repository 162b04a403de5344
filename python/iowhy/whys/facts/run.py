"""The run itself: its time, and how far the recording of it can be trusted."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from iowhy.whys.facts import Facts

#: Tables that tell when something ran, when the manifest does not: column and length.
_TIMED = (
    ("thread_time", "ts_ns", "ts_ns + interval_ns"),
    ("syscalls", "ts_ns", "ts_ns + dur_ns"),
    ("syscall_totals", "ts_ns", "ts_ns + interval_ns"),
    ("cpu_samples", "ts_ns", "ts_ns"),
    ("disk_samples", "ts_ns", "ts_ns"),
    ("vm_samples", "ts_ns", "ts_ns"),
    ("page_cache", "ts_ns", "ts_ns + interval_ns"),
    ("block_requests", "queue_ns", "coalesce(complete_ns, queue_ns)"),
)


#: By the mode of recording.
_WHO = {"attach": "the attached process", "machine": "the machine"}


@dataclass(frozen=True)
class Run:
    """`start_ns` and `end_ns` on CLOCK_MONOTONIC; a paste without dates starts at 0."""

    start_ns: int
    end_ns: int
    elapsed_ns: int | None
    pasted: bool
    source: str
    mode: str
    argv: tuple[str, ...]
    lost: dict[str, int]
    kept: dict[str, int]
    missing: dict[str, str]
    recorder_cpu_share: float | None
    complete: bool

    @property
    def who(self) -> str:
        """What was recorded, as sentences call it: one word for all of them, in the singular."""
        return _WHO.get(self.mode, "the command")

    @property
    def seconds(self) -> float | None:
        """Elapsed seconds."""
        return None if self.elapsed_ns is None else self.elapsed_ns / 1e9


def measure(facts: "Facts") -> Run:
    """From the manifest; the time, when it is not there, from the first and last row."""
    manifest = facts.manifest
    start, end = manifest.command.start_ns, manifest.command.end_ns
    if start is None or end is None or end <= start:
        for table, first, last in _TIMED:
            if not facts.has(table):
                continue
            row = facts.rows(f"SELECT min({first}), max({last}) FROM {table}")[0]
            if isinstance(row[0], int) and isinstance(row[1], int) and row[1] > row[0]:
                start, end = start if start is not None else row[0], row[1]
                break
    known = start is not None and end is not None and end > start
    elapsed = end - start if known and start is not None and end is not None else None
    cpu = manifest.recorder.cpu_ns
    cpus = manifest.host.cpus or 1
    return Run(
        start_ns=start or 0,
        end_ns=end or 0,
        elapsed_ns=elapsed,
        pasted=manifest.source == "diagnose",
        source=manifest.source,
        mode=manifest.command.mode,
        argv=manifest.command.argv,
        lost={name: kept.lost for name, kept in manifest.tables.items() if kept.lost > 0},
        kept={name: kept.kept for name, kept in manifest.tables.items()},
        missing={s.name: s.why or "did not run" for s in manifest.sensors if not s.ran},
        recorder_cpu_share=None if cpu is None or not elapsed else cpu / (elapsed * cpus),
        complete=manifest.complete,
    )
