"""An experiment that was saved (`--export-json`, or next to a recording), read again with care: it may come from anybody."""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct, ValidationError, convert

from iowhy.errors import Problem
from iowhy.experiments.circumstances import Circumstances, Ran
from iowhy.experiments.lever_answer import Answer
from iowhy.experiments.result import Judged
from iowhy.recordings.experiments import EXPERIMENT_MAX_BYTES
from iowhy.recordings.plain_file import read_plain


class Measured(Struct, frozen=True):
    """What was measured under one condition: `values` of each trial that counts, in the result's unit.

    CPU seconds and the bytes that the disk moved for all are means; None is not known.
    """

    lever: str
    level: str
    values: tuple[float, ...]
    cpu_s: float | None
    device_bytes: float | None


class Saved(Struct, frozen=True):
    """What a page shows of an experiment; `circumstances` are what it is to be judged by."""

    command: tuple[str, ...]
    sentence: str
    measure: str
    unit: str
    answers: tuple[Answer, ...]
    measured: tuple[Measured, ...]
    findings: tuple[Judged, ...]
    circumstances: Circumstances


class _Others(Struct):
    cpus: float


class _Trial(Struct):
    condition: str
    measure: float
    disturbed: bool
    reached: dict[str, float]
    factor: float | None
    others: _Others | None
    user_s: float | None
    system_s: float | None
    device_bytes: float | None


class _Own(Struct):
    """The part of a saved file that `iowhy experiment` reads again."""

    command: tuple[str, ...]
    sentence: str
    measure: str
    unit: str
    answers: tuple[Answer, ...]
    trials: tuple[_Trial, ...]
    findings: tuple[Judged, ...]
    notes: tuple[str, ...]
    left_out: tuple[tuple[str, str], ...]
    failed: tuple[tuple[str, str], ...]
    repeated: int
    kept_disturbed: int
    blocks: int
    seed: int | None
    settings: dict[str, Any]


def read_saved(path: Path) -> Saved:
    """Raises Problem for what is not a result of `iowhy experiment`."""
    try:
        loaded = json.loads(read_plain(path, EXPERIMENT_MAX_BYTES))
        own = convert(_with_nan(loaded["iowhy"]), _Own)
        if not all(0 < r.slower.value < math.inf for one in own.answers for r in one.responses):
            raise ValueError("no ratio")
    except FileNotFoundError:
        raise Problem("no-such-file", path=path) from None
    except (ValidationError, ValueError, KeyError, TypeError, RecursionError):
        raise Problem("not-an-export", path=path) from None
    kept = [one for one in own.trials if not one.disturbed]
    return Saved(
        command=own.command,
        sentence=own.sentence,
        measure=own.measure,
        unit=own.unit,
        answers=own.answers,
        measured=_measured(kept),
        findings=own.findings,
        circumstances=Circumstances(
            notes=own.notes,
            left_out=own.left_out,
            failed=own.failed,
            trials=[
                Ran(one.condition, one.factor, one.reached, one.others.cpus if one.others else None)
                for one in kept
            ],
            repeated=own.repeated,
            kept_disturbed=own.kept_disturbed,
            blocks=own.blocks,
            seed=own.seed,
            cache=str(own.settings.get("cache", "as-is")),
        ),
    )


def _with_nan(value: Any) -> Any:
    """An end of an interval that is unknown is null in JSON, and NaN here."""
    if isinstance(value, list):
        return [_with_nan(one) for one in value]
    if not isinstance(value, dict):
        return value
    ends = {key: math.nan for key in ("low", "high") if key in value and value[key] is None}
    return {key: _with_nan(one) for key, one in value.items()} | ends


def _measured(kept: Sequence[_Trial]) -> tuple[Measured, ...]:
    """In the order in which conditions first ran."""
    found: dict[str, list[_Trial]] = {}
    for trial in kept:
        found.setdefault(trial.condition, []).append(trial)
    return tuple(
        Measured(
            name.partition(" ")[0],
            name.partition(" ")[2],
            tuple(trial.measure for trial in of),
            _mean(
                [
                    trial.user_s + trial.system_s
                    for trial in of
                    if trial.user_s is not None and trial.system_s is not None
                ]
            ),
            _mean([trial.device_bytes for trial in of if trial.device_bytes is not None]),
        )
        for name, of in found.items()
    )


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
