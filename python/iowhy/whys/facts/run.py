"""The run itself: its time, and how far the recording of it can be trusted."""

from msgspec import Struct

from iowhy.recordings import Manifest, Recording
from iowhy.recordings.row_counts import Mismatch
from iowhy.relations import RecordedFacts
from iowhy.tables import sensors

#: Sensors that a verdict does not miss.
_ONLY_ADD = frozenset(one.name for one in sensors().values() if one.only_adds)


class Run(Struct, frozen=True):
    """`start_ns` and `end_ns` on CLOCK_MONOTONIC; a paste without dates starts at 0.

    `complete`: no end of it is missing that will not come: one that still grows is complete so far. `part_of_ns`: how long the recording is, where less of its time is looked at; None where all is.
    """

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
    #: Table → why all that is in it shows only a part of what happened (one screen, one process, since boot).
    partial: dict[str, str]
    #: Of the rows of numbers of other tools' texts: how many were not understood, and how many there are.
    skipped: int = 0
    figures: int = 0
    part_of_ns: int | None = None
    #: What was recorded, as sentences call it.
    who: str = "the command"
    #: Tables that hold other rows than the manifest counts.
    mismatches: tuple[Mismatch, ...] = ()

    @property
    def skipped_share(self) -> float:
        """Of the rows of numbers, those that were not understood."""
        return self.skipped / self.figures if self.figures else 0.0

    @property
    def seconds(self) -> float | None:
        """Elapsed seconds."""
        return None if self.elapsed_ns is None else self.elapsed_ns / 1e9


def measure(recording: Recording, facts: RecordedFacts, who: str) -> Run:
    """From the manifest; the time, when it is not there, from the first and last row."""
    manifest, elapsed_ns = recording.manifest, facts.elapsed_ns or None
    cpu_ns, cpus = manifest.recorder.cpu_ns, manifest.host.cpus
    part_of_ns = _part_of_ns(manifest, facts)
    # The recorder's CPU time is known of the whole alone.
    recorded_ns = part_of_ns or elapsed_ns
    return Run(
        start_ns=facts.start_ns,
        end_ns=facts.end_ns,
        elapsed_ns=elapsed_ns,
        pasted=manifest.source == "diagnose",
        source=manifest.source,
        mode=manifest.command.mode,
        argv=manifest.command.argv,
        lost={name: kept.lost for name, kept in manifest.tables.items() if kept.lost > 0},
        kept={name: kept.kept for name, kept in manifest.tables.items()},
        missing={
            s.name: s.why or "did not run"
            for s in manifest.sensors
            if not s.ran and s.name not in _ONLY_ADD
        },
        recorder_cpu_share=None
        if cpu_ns is None or not recorded_ns or not cpus
        else cpu_ns / (recorded_ns * cpus),
        complete=not recording.cut_off,
        partial=_partial(manifest),
        skipped=sum(one.skipped for one in manifest.inputs),
        figures=sum(one.skipped + one.figures for one in manifest.inputs),
        part_of_ns=part_of_ns,
        who=who,
        mismatches=facts.mismatches,
    )


def _part_of_ns(manifest: Manifest, facts: RecordedFacts) -> int | None:
    whole_ns = manifest.elapsed_ns
    return whole_ns if whole_ns is not None and facts.elapsed_ns < whole_ns else None


def _partial(manifest: Manifest) -> dict[str, str]:
    whole = {table for one in manifest.inputs if one.partial is None for table in one.tables}
    return {
        table: one.partial
        for one in manifest.inputs
        if one.partial is not None
        for table in one.tables
        if table not in whole
    }
