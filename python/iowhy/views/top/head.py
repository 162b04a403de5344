"""The lines above the tables: which recording, as of when, and where the time of the stretch went."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.text import Text

from iowhy import units
from iowhy.messages import printable
from iowhy.views.class_marks import COLOURS, LETTERS, cells_of

if TYPE_CHECKING:  # slow to import, and the first frame does not wait for it
    from iowhy.reports.engine import Row
    from iowhy.watching.moment import Moment

_LEAST = 0.0005
#: Letters of a page's name where there is no room for all of it.
_SHORT = 4


def pages(level: str, titles: Sequence[str], chosen: int, width: int) -> Text:
    """The pages by number; where they do not fit, the names of those that are not shown are cut, then left out."""

    def drawn(letters: int | None, around: str) -> Text:
        text = Text(no_wrap=True)
        for at, name in enumerate(titles):
            word = name if letters is None or at == chosen else name[:letters]
            label = f"{at + 1} {word}".strip()
            text.append(f"{around}{label}{around}", "reverse" if at == chosen else "dim")
            if not around and at + 1 < len(titles):
                text.append(" ")
        return text

    most = max(width - len(level) - 3, 0) if level else width
    forms = ((None, " "), (None, ""), (_SHORT, ""), (0, ""))
    made = [drawn(letters, around) for letters, around in forms]
    # What is opened is said above as well, where the numbers alone leave it no room.
    fits = next((one for one in made if one.cell_len <= most), made[-1])
    left = width - fits.cell_len
    text = Text(no_wrap=True)
    if level and left > 3:
        named = Text(f" {level} ", "bold", no_wrap=True)
        named.truncate(left, overflow="ellipsis")
        text.append_text(named)
    text.append_text(fits)
    text.truncate(width, overflow="ellipsis")
    return text


def title(name: str, state: str, moment: "Moment | None", width: int) -> Text:
    """Its name, what it does, and the stretch that is looked at; what does not fit is left out from the end."""
    words = [printable(name)]
    if moment is not None:
        begin, end = (units.duration(at) for at in (moment.begin_ns, moment.end_ns))
        whole = moment.of.end_ns - moment.of.start_ns
        span = units.duration(moment.end_ns - moment.begin_ns)
        last = f"all {span}" if moment.begin_ns == 0 else f"last {span} of {end}"
        words.append(
            last if moment.end_ns >= whole else f"{begin} to {end} of {units.duration(whole)}"
        )
    text = Text(no_wrap=True)
    text.append(f" {state} ", "reverse" if state == "recording" else "reverse dim")
    for word in words:
        if cell_len(text.plain) + 2 + cell_len(word) > width and len(text.plain) > len(state) + 2:
            break
        text.append(f"  {word}", "bold" if word == words[0] else "")
    text.truncate(width)
    return text


def budget(rows: "Sequence[Row]", width: int, colours: bool = True) -> Text:
    """The bar and its legend, in as many lines as that takes."""
    shares = [
        (str(row["class"]), share)
        for row in rows
        if isinstance(share := row["share_of_elapsed"], float) and share >= _LEAST
    ]
    if not shares:
        return Text(" where the time went is not known", "dim")
    total = sum(share for _, share in shares)
    bar = Text(" ")
    for (name, _), cells in zip(
        shares, cells_of([share / total for _, share in shares], max(width - 2, 12)), strict=True
    ):
        if colours:
            bar.append("█" * cells, COLOURS.get(name, ""))
        else:
            bar.append(LETTERS.get(name, "?") * cells)
    legend, used = Text("\n "), 1
    for name, share in sorted(shares, key=lambda one: -one[1]):
        words = f" {name} {units.percent(share)}"
        if used > 1 and used + 3 + len(words) > width:
            legend.append("\n ")
            used = 1
        legend.append("█" if colours else LETTERS.get(name, "?"), COLOURS.get(name, ""))
        legend.append(words + "  ")
        used += 3 + len(words)
    return bar + legend
