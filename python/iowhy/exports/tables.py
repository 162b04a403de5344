"""A recording's tables as files for other programs, one file each."""

from collections.abc import Callable
from pathlib import Path

from iowhy.recording import Recording
from iowhy.recording.schema import tables
from iowhy.reports.batches import Result
from iowhy.reports.engine import queries


def write_tables(
    recording: Recording, folder: Path, suffix: str, write: Callable[[Result, Path, str], None]
) -> None:
    """Writes each table that has rows to `folder`/NAME`suffix`, by `write`, which gets the file and the name.

    Columns are those of docs/recording.md. Raises Problem for a recording that cannot be read, and OSError.
    """
    with recording.opened() as opened:
        counts = opened.row_counts()
    with queries(recording) as ask:
        for name in tables():
            if counts.get(name):
                write(ask(f"SELECT * FROM main.{name}"), folder / f"{name}{suffix}", name)
