"""An experiment that was saved (`--export-json`, or next to a recording), read again with care: it may come from anybody."""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from iowhy.errors import Problem
from iowhy.experiments.circumstances import Circumstances, saved_circumstances
from iowhy.experiments.interval import Interval
from iowhy.experiments.lever_answer import Answer, Response, Verdict
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


def read_saved(path: Path) -> Saved:
    """Raises Problem for what is not a result of `iowhy experiment`."""
    try:
        loaded = json.loads(read_plain(path, EXPERIMENT_MAX_BYTES))
        return _saved(loaded["iowhy"])
    except FileNotFoundError:
        raise Problem(f"{path}: no such file") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise Problem(
            f"{path}: not what `--export-json` of iowhy experiment or compare saves; give that, or recordings"
        ) from None


def _saved(own: Mapping[str, Any]) -> Saved:
    return Saved(
        command=tuple(map(str, own["command"])),
        sentence=str(own["sentence"]),
        measure=str(own["measure"]),
        unit=str(own["unit"]),
        answers=tuple(map(_answer, own["answers"])),
        measured=_measured(own["trials"]),
        findings=tuple(_judged(one) for one in own["findings"]),
        circumstances=saved_circumstances(own),
    )


def _answer(one: Mapping[str, Any]) -> Answer:
    return Answer(
        lever=str(one["lever"]),
        verdict=Verdict(one["verdict"]),
        responses=tuple(
            Response(
                label=str(r["label"]),
                key=str(r["key"]),
                factor=_optional(r["factor"]),
                slower=_ratio(r["slower"]),
                blocks=int(r["blocks"]),
            )
            for r in one["responses"]
        ),
        sensitivity=_interval(one["sensitivity"]),
        share=_interval(one["share"]),
        p=_optional(one["p"]),
        alpha=float(one["alpha"]),
        blocks=int(one["blocks"]),
        more_blocks=None if one["more_blocks"] is None else int(one["more_blocks"]),
        why_unresolved=None if one["why_unresolved"] is None else str(one["why_unresolved"]),
    )


def _measured(trials: Sequence[Mapping[str, Any]]) -> tuple[Measured, ...]:
    """Of the trials that were not disturbed, in the order in which conditions first ran."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    for trial in trials:
        if not trial["disturbed"]:
            found.setdefault(str(trial["condition"]), []).append(trial)
    return tuple(
        Measured(
            name.partition(" ")[0],
            name.partition(" ")[2],
            tuple(float(trial["measure"]) for trial in kept),
            _mean(
                [
                    float(trial["user_s"]) + float(trial["system_s"])
                    for trial in kept
                    if trial["user_s"] is not None and trial["system_s"] is not None
                ]
            ),
            _mean([float(t["device_bytes"]) for t in kept if t["device_bytes"] is not None]),
        )
        for name, kept in found.items()
    )


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _judged(one: Mapping[str, Any]) -> Judged:
    return Judged(
        cause=str(one["cause"]),
        title=str(one["title"]),
        outcome=str(one["outcome"]),
        confidence_before=float(one["confidence_before"]),
        confidence_after=float(one["confidence_after"]),
        because=str(one["because"]),
    )


def _ratio(one: Mapping[str, Any]) -> Interval:
    found = _interval(one)
    if found is None or not found.value > 0 or not math.isfinite(found.value):
        raise ValueError("no ratio")
    return found


def _interval(one: Mapping[str, Any] | None) -> Interval | None:
    """What is unknown is null in JSON, and NaN here."""
    if one is None:
        return None
    low, high = (math.nan if one[end] is None else float(one[end]) for end in ("low", "high"))
    return Interval(float(one["value"]), low, high)


def _optional(value: Any) -> float | None:
    return None if value is None else float(value)
