"""What tuning found, on the terminal and as JSON."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from iowhy import units
from iowhy.experiments.command import shown
from iowhy.experiments.sentence import plain
from iowhy.messages import json_text
from iowhy.sentences import described
from iowhy.views.terminal import Field, console, paragraph, print_rows

if TYPE_CHECKING:  # slow to import
    from iowhy.tuning.search import Tried, Tuned


def print_listed(rows: Sequence[tuple[str, str, str]], *, as_json: bool = False) -> None:
    """The settings."""
    if as_json:
        names = ("name", "values", "cannot")
        print(json_text({"settings": [dict(zip(names, row, strict=True)) for row in rows]}))
        return
    fields = [Field(name, str, left=True) for name in ("setting", "here", "cannot be tried")]
    print_rows(console(), fields, rows)


def print_tuned(found: "Tuned", keep: Path | None, *, as_json: bool = False) -> None:
    """The answer first."""
    if as_json:
        print(json_text(as_document(found)))
        return
    out = console()
    paragraph(out, answer(found), "bold", hang=0)
    if found.tried:
        out.print()
        fields = (
            Field("setting", str, left=True),
            Field("expected", str),
            Field("runs", str),
            Field("times as fast (range)", str),
            Field("", str, left=True),
        )
        print_rows(out, fields, [_row(one) for one in found.tried])
    out.print()
    for name, why in found.cannot:
        paragraph(out, f"{name} was not tried: {why}", "dim", 2)
    if found.out_of_time and found.no_answer is None:
        paragraph(out, "The time limit came before all was clear: --within sets it.", "dim", 2)
    paragraph(out, "The machine is as it was.", "dim", 2)
    if found.kept is None:
        return
    if keep is None:
        paragraph(out, "To keep it: --keep FILE writes what makes it last.", indent=2)
        return
    paragraph(
        out,
        f"{keep} makes it last: look at it, it says where it belongs and how to undo it.",
        indent=2,
    )


def answer(found: "Tuned") -> str:
    """`before 3.4 s, after 2.1 s (1.4 to 1.8 times as fast), by read_ahead_kb 128 → 1024`."""
    if found.no_answer is not None:
        return f"{found.no_answer}."
    faster = found.faster
    if faster is not None and found.after_s is not None:
        between = (
            f" ({plain(faster.low)} to {plain(faster.high)} times as fast)" if faster.known else ""
        )
        return f"Before {_time(found.before_s)}, after {_time(found.after_s)}{between}, by {found.best}"
    command = shown(found.command)
    if not found.tried:
        return f"Nothing to try: no setting of this machine could make {command} faster by what is known of it"
    open_ = [one.name for one in found.tried if one.helps is None]
    if open_:
        return f"Nothing is known to help {command} ({_time(found.before_s)}); not clear yet: {', '.join(open_)}"
    return f"Nothing of what was tried helps {command} ({_time(found.before_s)})"


def as_document(found: "Tuned") -> dict[str, Any]:
    """The documented object."""
    kept = found.kept
    return {
        "command": list(found.command),
        "before_s": found.before_s,
        "after_s": found.after_s,
        "best": found.best,
        "no_answer": None if found.no_answer is None else described(found.no_answer),
        "out_of_time": found.out_of_time,
        "blocks": found.blocks,
        "seed": found.seed,
        "tried": [
            {
                "setting": one.name,
                "could_save": one.worth,
                "helps": one.helps,
                "runs": one.runs,
                "times_slower": None if one.slower is None else one.slower.value,
                "low": None if one.slower is None or not one.slower.known else one.slower.low,
                "high": None if one.slower is None or not one.slower.known else one.slower.high,
            }
            for one in found.tried
        ],
        "cannot": dict(found.cannot),
        "kept": None
        if kept is None
        else {"place": kept.place, "text": kept.text, "apply": kept.apply, "undo": kept.undo},
    }


def _row(one: "Tried") -> tuple[str, str, str, str, str]:
    times = ""
    if one.slower is not None:
        times = plain(1 / one.slower.value)
        if one.slower.known:
            times += f" ({plain(1 / one.slower.high)} to {plain(1 / one.slower.low)})"
    said = {True: "helps", False: "does not help", None: "not known yet"}[one.helps]
    return one.name, units.percent(one.worth), str(one.runs), times, said


def _time(seconds: float) -> str:
    return units.duration(seconds * 1e9)
