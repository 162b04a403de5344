"""Adding a summary number of another tool."""

from __future__ import annotations

from iowhy.sources.format import Parsed


def measure(
    parsed: Parsed, subject: str, metric: str, value: float | None, ts_ns: int | None = None
) -> None:
    """One row of measurements; an unknown value is left out."""
    if value is None:
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
