"""A recording, or a file of it, that goes while it is read."""

from pathlib import Path

from iowhy.errors import Problem


def went(what: Path | str) -> Problem:
    """Says so."""
    return Problem(
        f"{what}: was removed or renamed while it was read; a recording can be read wherever it lies"
    )
