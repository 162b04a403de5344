"""Comparisons for scripts: stable names, seconds, null for what is unknown."""

from typing import Any

from msgspec.structs import asdict

from iowhy.comparisons.comparison import Comparison, Step
from iowhy.comparisons.latencies import POINTS, Latency
from iowhy.comparisons.sides import Side
from iowhy.experiments.interval import Interval


def as_json(found: Comparison) -> dict[str, Any]:
    """One side against another."""
    slower = found.slower
    time = found.time
    return {
        "before": _side(found.before),
        "after": _side(found.after),
        "slower": None if slower is None else interval_json(slower),
        "rates": [asdict(one) for one in found.rates],
        "superiority": None if time is None else time.superiority,
        "p_mann_whitney": None if time is None else time.p_mann_whitney,
        "p_permutation": None if time is None else time.p_permutation,
        "parts": [
            {
                "class": part.name,
                "before_s": part.before_s,
                "after_s": part.after_s,
                "explains": part.explains,
            }
            for part in found.parts
        ],
        "layers": [
            {
                "measure": one.measure.name,
                "unit": one.measure.unit,
                "before": one.before,
                "after": one.after,
            }
            for one in found.changed
        ],
        "latencies": [{"requests": one.what, **_sides(one)} for one in found.latencies],
        "call_latencies": [{"calls": one.what, **_sides(one)} for one in found.call_latencies],
        "paths": [asdict(one) for one in found.paths],
        "phases": [
            {
                "class": one.cls,
                "before": one.before,
                "after": one.after,
                "before_last": one.before_last,
                "after_last": one.after_last,
                "before_s": one.before_s,
                "after_s": one.after_s,
                "before_calls": None if one.before_done is None else one.before_done.calls,
                "after_calls": None if one.after_done is None else one.after_done.calls,
                "slower_s": one.slower_s,
            }
            for one in found.stages
        ],
        "statements": [asdict(one) for one in found.statements],
        "notes": list(found.notes),
        "findings": [asdict(one) for one in found.fates],
    }


def _sides(found: Latency) -> dict[str, Any]:
    return {
        "before": dict(zip(POINTS, found.before, strict=True)),
        "after": dict(zip(POINTS, found.after, strict=True)),
    }


def interval_json(found: Interval) -> dict[str, float | None]:
    """A value with its interval; null without one."""
    return {
        "value": found.value,
        "low": found.low if found.known else None,
        "high": found.high if found.known else None,
    }


def step_json(step: Step) -> dict[str, Any]:
    """One line of the log of successive changes."""
    return {
        "label": step.side.label,
        "recordings": _places(step.side),
        "seconds": step.seconds,
        "bottleneck": step.bottleneck,
        "against_baseline": _or_null(step.against_baseline),
        "against_previous": _or_null(step.against_previous),
    }


def _side(side: Side) -> dict[str, Any]:
    return {"label": side.label, "seconds": list(side.seconds), "recordings": _places(side)}


def _places(side: Side) -> list[str]:
    """Where its recordings are, so that a saved comparison can be opened again."""
    return [str(one.path.resolve()) for one in side.recordings]


def _or_null(found: Interval | None) -> dict[str, float | None] | None:
    return None if found is None else interval_json(found)
