"""Adding a summary number of another tool."""

from __future__ import annotations

import math

from iowhy.sources.format import Parsed


def measure(
    parsed: Parsed, subject: str, metric: str, value: float | None, ts_ns: int | None = None
) -> None:
    """One row of measurements; an unknown value (or one that is no number) is left out."""
    if value is None or not math.isfinite(value):
        return
    parsed.add(
        "measurements",
        {
            "ts_ns": ts_ns,
            "tool": parsed.tool,
            "subject": subject,
            "metric": metric,
            "value": float(value),
        },
    )
