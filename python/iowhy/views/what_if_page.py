"""What would help, as a table, the most helpful change first; and as JSON."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from iowhy import units
from iowhy.messages import json_text
from iowhy.model.predictions import SAME, Prediction, WhatIf
from iowhy.sentences import described
from iowhy.views.terminal import Field, console, paragraph, print_rows

if TYPE_CHECKING:  # slow to import
    from rich.console import Console

#: Changes that have a line each; a screen holds 25 at 80 columns.
MOST = 15


def print_what_if(found: WhatIf, *, as_json: bool = False) -> None:
    """Print predictions, on the terminal or as the documented JSON object."""
    if as_json:
        print(json_text(as_document(found)))
    else:
        show(found, console())


def as_document(found: WhatIf) -> dict[str, Any]:
    """The documented object."""
    return {
        "before_s": found.before_s,
        "cannot": None if found.cannot is None else described(found.cannot),
        "replayed_share": found.part,
        "predictions": [
            {
                "id": one.id,
                "change": described(one.change),
                "after_s": one.after_s,
                "low_s": one.low_s,
                "high_s": one.high_s,
                "because": described(one.because),
                "assumes": described(one.assumes),
            }
            for one in found.predictions
        ],
    }


def show(found: WhatIf, out: "Console") -> None:
    """Draw them."""
    if found.cannot is not None or found.before_s is None:
        paragraph(out, f"No prediction for {found.who}: {found.cannot}.")
        return
    before = found.before_s
    ranked = sorted(found.predictions, key=lambda one: one.after_s)
    best = ranked[0] if ranked else None
    out.print(f"{found.who} takes {_time(before)}. What would change that:", soft_wrap=True)
    if best is None or best.after_s > (1 - SAME) * before:
        out.print("  None of these would help.", soft_wrap=True)
    fields = (
        Field("change", str, left=True),
        Field(f"{_time(before)} →", str),
        Field("likely range", str),
        Field("because", str, left=True),
    )
    print_rows(out, fields, [_row(one, before) for one in ranked[:MOST]])
    paragraph(
        out,
        "Each row is one change alone, estimated by executing the recorded run in a model. `iowhy experiment` tests one; --json says what each assumes.",
        "dim",
    )


def print_many(found: Mapping[str, WhatIf], *, as_json: bool = False) -> None:
    """Of several recordings: what the best device saves, and what helps most; who gains most first."""
    if as_json:
        rows = [{"recording": name, **as_document(one)} for name, one in found.items()]
        print(json_text({"recordings": rows}))
        return
    out = console()
    devices = {name: _least(one, "device:") for name, one in found.items()}
    ranked = sorted(found, key=lambda name: _saved(devices[name]), reverse=True)
    gain = sum(_saved(one) >= _GAINS for one in devices.values())
    out.print(f"{gain} of {len(found)} would gain from another device.", soft_wrap=True)
    names = ("recording", "takes", "device", "saves", "most helpful", "saves")
    fields = [Field(name, str, left=name not in ("takes", "saves")) for name in names]
    print_rows(out, fields, [_line(name, found[name], devices[name]) for name in ranked])


#: What saves less is no gain.
_GAINS = 0.1


def _least(found: WhatIf, kind: str = "") -> Prediction | None:
    """The change of a kind that saves most."""
    chosen = [one for one in found.predictions if one.id.startswith(kind)]
    return min(chosen, key=lambda one: one.after_s, default=None)


def _saved(one: Prediction | None) -> float:
    return 0.0 if one is None else max(0.0, 1 - one.after_s / one.before_s)


def _line(name: str, found: WhatIf, device: Prediction | None) -> tuple[str, ...]:
    if found.cannot is not None:
        return name, "", "", "", str(found.cannot), ""
    takes = "" if found.before_s is None else _time(found.before_s)
    best = _least(found)
    of_device = ("", "") if device is None else (str(device.change), units.percent(_saved(device)))
    of_best = ("", "") if best is None else (str(best.change), units.percent(_saved(best)))
    return name, takes, *of_device, *of_best


def _row(one: Prediction, before: float) -> tuple[str, str, str, str]:
    same = abs(one.after_s - before) < SAME * before
    open_ = one.low_s <= before <= one.high_s
    after = "no difference" if same else f"{'perhaps ' if open_ else ''}{_time(one.after_s)}"
    within = "" if same else _range(one.low_s, one.high_s)
    return str(one.change), after, within, str(one.because)


def _time(seconds: float) -> str:
    return units.duration(seconds * 1e9)


def _range(low: float, high: float) -> str:
    """Two times with one unit, as short as they may be."""
    factor, unit = next(
        (one for one in ((1.0, "s"), (1e3, "ms")) if high * one[0] >= 1), (1e6, "µs")
    )
    return f"{_two_digits(low * factor)} to {_two_digits(high * factor)} {unit}"


def _two_digits(value: float) -> str:
    return f"{value:.2g}" if value < 10 else f"{value:,.0f}"
