"""What experiments found out about a recording's findings: its folder `experiments/`."""

import json

from msgspec import Struct

from iowhy.errors import Problem
from iowhy.recordings.plain_file import read_plain
from iowhy.recordings.recording import Recording

EXPERIMENT_MAX_BYTES = 64 * 1024 * 1024  # every trial is in it; more than that is not ours


class Tested(Struct, frozen=True):
    """A finding after an experiment: confirmed, refuted or not tested, and what that rests on."""

    cause: str
    outcome: str
    confidence: float
    because: str


def tested(recording: Recording) -> dict[str, Tested]:
    """By cause, what the latest experiment that resolved it says; files that are none are left out."""
    found: dict[str, Tested] = {}
    folder = recording.folder / "experiments"
    if folder.is_symlink() or not folder.is_dir():
        return found
    for path in sorted(folder.glob("*.json")):
        try:
            for one in json.loads(read_plain(path, EXPERIMENT_MAX_BYTES))["iowhy"]["findings"]:
                # What was shown once stays shown when a later experiment was too short to tell.
                open_ = one["outcome"] == "not resolved" and str(one["cause"]) in found
                if one["outcome"] != "not tested" and not open_:
                    found[str(one["cause"])] = Tested(
                        str(one["cause"]),
                        str(one["outcome"]),
                        min(1.0, max(0.0, float(one["confidence_after"]))),
                        str(one["because"]),
                    )
        except (Problem, OSError, ValueError, KeyError, TypeError, RecursionError):
            continue
    return found
