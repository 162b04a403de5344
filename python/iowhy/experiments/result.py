"""What an experiment found, and how it is saved: hyperfine's JSON form plus our own fields."""

import json
import math
import re
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct, field, to_builtins

from iowhy.errors import Problem
from iowhy.experiments.command import shown
from iowhy.experiments.condition import Condition, Trial
from iowhy.experiments.lever_answer import Answer
from iowhy.experiments.predicted import Compared
from iowhy.users import inside_as_owner
from iowhy.version import VERSION
from iowhy.written_files import PRIVATE_DIRECTORY, put, write_whole


class Judged(Struct, frozen=True):
    """A finding of a recording after the experiment."""

    cause: str
    title: str
    outcome: str
    confidence_before: float
    confidence_after: float
    because: str


class Result(Struct, frozen=True):
    """Everything about one experiment.

    ``measure`` names what was measured, in ``unit``. ``left_out`` says why a lever could not act.
    """

    command: tuple[str, ...]
    measure: str
    unit: str
    higher_is_better: bool
    seed: int | None
    sentence: str
    answers: tuple[Answer, ...]
    conditions: tuple[Condition, ...]
    trials: tuple[Trial, ...]
    blocks: int = 0
    repeated: int = 0
    kept_disturbed: int = 0
    left_out: tuple[tuple[str, str], ...] = ()
    failed: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()
    findings: tuple[Judged, ...] = ()
    compared: tuple[Compared, ...] = ()
    recording: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)

    def kept(self, condition: Condition) -> list[Trial]:
        """The trials of a condition that count."""
        return [t for t in self.trials if t.condition == condition and not t.disturbed]


def as_json(result: Result) -> dict[str, Any]:
    """hyperfine's ``results`` (times in seconds) with one entry per condition, and ``iowhy``."""
    results = []
    for condition in result.conditions:
        kept = result.kept(condition)
        if kept:
            results.append(_entry(result, condition, kept))
    own = to_builtins(result)
    for key in ("trials", "conditions"):
        own.pop(key)
    own["version"] = VERSION
    own["trials"] = [
        {**to_builtins(trial), "condition": trial.condition.name} for trial in result.trials
    ]
    found: dict[str, Any] = _plain({"results": results, "iowhy": own})
    return found


def _plain(value: Any) -> Any:
    """JSON has no NaN: what is unknown is null."""
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _entry(result: Result, condition: Condition, kept: Sequence[Trial]) -> dict[str, Any]:
    times = [trial.wall_s for trial in kept]
    entry: dict[str, Any] = {
        "command": shown(result.command),
        "mean": statistics.fmean(times),
        "stddev": statistics.stdev(times) if len(times) > 1 else None,
        "median": statistics.median(times),
        "user": _mean([trial.user_s for trial in kept]),
        "system": _mean([trial.system_s for trial in kept]),
        "min": min(times),
        "max": max(times),
        "times": times,
        "memory_usage_byte": [trial.peak_rss_bytes for trial in kept],
        "exit_codes": [trial.status for trial in kept],
        "device_bytes": _mean([trial.device_bytes for trial in kept]),
    }
    if condition.lever is not None and condition.level is not None:
        entry["parameters"] = {"lever": condition.lever, "level": condition.level.key}
    if result.unit != "s" or result.higher_is_better:
        entry["metric"] = {
            "name": result.measure,
            "unit": result.unit,
            "values": [trial.measure for trial in kept],
        }
    return entry


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def save_json(path: Path, result: Result, *, force: bool = False) -> None:
    """Saves a result in hyperfine's form plus ours. Raises Problem where it cannot be written."""
    put(path, _text(result), force=force)


def _text(result: Result) -> str:
    return json.dumps(as_json(result), indent=1) + "\n"


def save_beside(recording: Path, result: Result) -> Path:
    """Saves a result in the recording whose findings it tested: ``experiments/000001.json`` and on."""
    folder = recording / "experiments"
    try:
        # Through sudo too, the recording is and stays the user's.
        with inside_as_owner(recording) as inside:
            within = inside / folder.name
            if within.is_symlink():
                raise Problem("folder-is-a-link", path=folder)
            within.mkdir(PRIVATE_DIRECTORY, exist_ok=True)
            # Digits of ASCII: `²2` is all digits to str.isdigit, and no number to int.
            taken = [
                int(one.stem)
                for one in within.glob("*.json")
                if re.fullmatch(r"[0-9]{1,9}", one.stem)
            ]
            name = f"{max(taken, default=0) + 1:06}.json"
            write_whole(within / name, _text(result).encode())
    except OSError as error:
        raise Problem("path-error", path=folder, error=error.strerror) from None
    return folder / name
