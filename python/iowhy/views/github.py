"""What became of expectations, for GitHub Actions: annotations of the run, and the summary of the step.

https://docs.github.com/actions/reference/workflow-commands-for-github-actions: a workflow command is a line of the
step's output, stderr included; of each kind ten are shown for a step.
"""

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from iowhy.masking import masked
from iowhy.messages import printable
from iowhy.messages import say as tell

if TYPE_CHECKING:  # slow to import
    from iowhy.expect import Outcome
    from iowhy.whys.verdict import Verdict

#: How a text is shown, for others' eyes.
Say = Callable[[str], str]

MOST = 10
_SIGN = {True: "✅", False: "❌", None: "❔"}


def wanted(annotate: str) -> bool:
    """Whether GitHub reads what is printed."""
    return annotate == "github" or (
        annotate == "auto" and os.environ.get("GITHUB_ACTIONS") == "true"
    )


def annotate(outcomes: "Sequence[Outcome]", say: Say = masked) -> None:
    """A line for each that was broken or is not known, at most ten: the last says how many more there are."""
    bad = [one for one in outcomes if not one.held]
    shown = bad if len(bad) <= MOST else bad[: MOST - 1]
    lines = [("error" if one.held is False else "warning", one.sentence) for one in shown]
    if len(shown) < len(bad):
        lines.append(("error", f"and {len(bad) - len(shown)} more that are broken or not known"))
    for kind, text in lines:
        _annotation(kind, say(text))


def warn(text: str, say: Say = masked) -> None:
    """A warning of the run."""
    _annotation("warning", say(text))


def summarise(
    name: str, verdict: "Verdict", outcomes: "Sequence[Outcome]", say: Say = masked
) -> None:
    """Adds a table to the step's summary, the file that $GITHUB_STEP_SUMMARY names."""
    place = os.environ.get("GITHUB_STEP_SUMMARY")
    if not place:
        return
    rows = [f"| {_SIGN[one.held]} | {_plain(say(one.sentence))} |" for one in outcomes]
    text = "\n".join(
        [
            f"### iowhy: {_plain(say(name))}",
            "",
            _plain(say(verdict.answer)),
            "",
            "| | |",
            "|-|-|",
            *rows,
            "",
        ]
    )
    try:
        with Path(place).open("a", encoding="utf-8") as file:
            file.write(text + "\n")
    except OSError as error:
        tell(f"{place}: the step's summary cannot be written: {error.strerror or error}")


def _annotation(kind: str, text: str) -> None:
    print(f"::{kind} title=iowhy::{_data(text)}", file=sys.stderr, flush=True)


def _data(text: str) -> str:
    """As the message of a workflow command."""
    return printable(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _plain(text: str) -> str:
    """Text in Markdown: names of files come from anybody, and shall be no link, no HTML and no extra cell."""
    return "".join(
        one if one.isalnum() or one in " .,:;/'%=?" or ord(one) > 127 else f"&#{ord(one)};"
        for one in printable(text)
    )
