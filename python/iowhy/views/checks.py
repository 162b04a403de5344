"""What `iowhy check` found, a line for each thing that was looked at."""

from collections.abc import Iterable
from pathlib import Path

from iowhy.messages import printable
from iowhy.recordings.check import Check


def show(recording: Path, found: Iterable[Check]) -> None:
    """The checks, then whether all is well."""
    good = True
    for check in found:
        good = good and check.ok
        print(printable(f"{'ok ' if check.ok else 'BAD'}  {check.subject:<20} {check.found}"))
    print(printable(f"{recording}: {'good' if good else 'damaged'}"))
