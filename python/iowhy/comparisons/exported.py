"""A comparison that `iowhy compare --export-json` saved, opened again: its recordings, under their names."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from iowhy.comparisons.sides import Side, side_of
from iowhy.errors import Problem
from iowhy.recordings.plain_file import read_plain

MOST_BYTES = 64 << 20


def read_exported(path: Path) -> list[Side] | None:
    """The sides, the first one first; None for a file of another kind.

    Raises Problem where it cannot be read, or a recording of it is no longer where it was.
    """
    try:
        loaded = json.loads(read_plain(path, MOST_BYTES))
    except FileNotFoundError:
        raise Problem("no-such-file", path=path) from None
    except (ValueError, RecursionError):
        return None
    if not isinstance(loaded, list) or not loaded:
        return None
    try:
        first = loaded[0]["before"] if "before" in loaded[0] else loaded[0]
        others = [one["after"] for one in loaded] if "before" in loaded[0] else loaded[1:]
        return [_side(path, one) for one in (first, *others)]
    except (KeyError, TypeError, AttributeError):
        raise Problem("not-a-saved-comparison", path=path) from None


def _side(path: Path, side: Mapping[str, Any]) -> Side:
    recordings = [Path(str(one)) for one in side["recordings"]]
    if not recordings:
        raise KeyError
    for one in recordings:
        if not one.exists():
            raise Problem("compared-recording-gone", path=path, one=one)
    return side_of(str(side["label"]), recordings)
