"""The levers of experiments, and which can act here."""

from collections.abc import Iterable

from rich.console import Console

from iowhy.experiments.availability import Availability
from iowhy.views.terminal import paragraph


def show(out: Console, found: Iterable[Availability]) -> None:
    """Each lever: what it does, what it needs, and whether it can act here and now."""
    for one in found:
        kind = "relieves" if one.relieves else "squeezes"
        extra = ", only when named" if one.explicit else ""
        paragraph(out, f"{one.name}: {kind}{extra}. {one.does}")
        paragraph(out, f"needs {one.needs}", "bright_black", 2)
        if one.refusal is None:
            paragraph(out, f"can act here; by default: {', '.join(one.levels)}", "green", 2)
        else:
            paragraph(out, f"cannot act here: {one.refusal}", "yellow", 2)
