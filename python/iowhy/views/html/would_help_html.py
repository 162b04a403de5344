"""What would help, on the page of a recording: a bar for the run as it was, and one for each change."""

from collections.abc import Sequence

from iowhy import units
from iowhy.model.predictions import Prediction
from iowhy.views.html.markup import Markup, element, lines

_HEIGHT = 14


def would_help_section(found: Sequence[Prediction]) -> Markup:
    """Nothing without predictions."""
    if not found:
        return Markup("")
    before_s = found[0].before_s
    rows = [_row("as it was", before_s, None, before_s)]
    rows += [_row(str(one.change), one.after_s, (one.low_s, one.high_s), before_s) for one in found]
    return element(
        "section",
        element("h2", "What would help"),
        element("div", element("table", lines(*rows)), class_="scroll"),
        element(
            "p", "Each change alone, predicted by executing the run in a model.", class_="hint"
        ),
        id="would-help",
    )


def _row(name: str, seconds: float, within: tuple[float, float] | None, whole: float) -> Markup:
    width = min(1.0, seconds / whole)
    said = units.duration(seconds * 1e9)
    if within is not None:
        said += f" ({units.duration(within[0] * 1e9)} to {units.duration(within[1] * 1e9)})"
    bar = Markup(f'<rect class="class-0" x="0" y="0" width="{width:.3%}" height="{_HEIGHT}"/>')
    drawn = element(
        "svg", bar, width="100%", height=_HEIGHT, role="img", aria_label=f"{name}: {said}"
    )
    return element(
        "tr", element("td", name), element("td", drawn, width="50%"), element("td", said)
    )
