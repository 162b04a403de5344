"""What commands print, held against a text file beside this: a change of words is seen in review.

`make snapshots` writes the files anew; look at the difference before it is committed.
"""

import difflib
import os
from collections.abc import Iterable
from pathlib import Path

from tests.command_line import invoke

UPDATE = "UPDATE_SNAPSHOTS"
FOLDER = Path(__file__).parent

_LONGEST, _CUT = 200, 70


def screen(*words: str, columns: int = 100, most: int = 1000) -> str:
    """A call and what it prints, stderr included, as in a terminal of that width without colours.

    Of lists that grow with each report, source or scenario `most` lines are kept, and the beginning of a
    line: who adds one need not touch these files.
    """
    done = invoke(words, env={"COLUMNS": str(columns), "NO_COLOR": "1"})
    width = "" if columns == 100 else f"   # {columns} columns"
    lines = [f"$ iowhy {' '.join(words)}{width}", done.output.rstrip("\n")]
    if done.exception is not None:
        lines[1:] = [f"iowhy: {done.exception}", "[exit status 2]"]
    elif done.exit_code:
        lines.append(f"[exit status {done.exit_code}]")
    shown = [line.rstrip() for text in lines if text for line in text.split("\n")]
    shown = [line if len(line) <= _LONGEST else f"{line[:_CUT]}…" for line in shown]
    return "\n".join(shown if len(shown) <= most else [*shown[:most], "…"])


def hold(name: str, screens: Iterable[str]) -> None:
    """Asserts that the screens are those of the file, or writes it where that is asked for."""
    file = FOLDER / f"{name}.txt"
    text = "\n\n".join(screens) + "\n"
    if os.environ.get(UPDATE):
        file.write_text(text)
    assert file.exists(), f"{file.name} is not there yet: `make snapshots` writes it"
    change = difflib.unified_diff(
        file.read_text().split("\n"), text.split("\n"), "the file", "printed", n=1
    )
    assert text == file.read_text(), "\n".join(
        [f"{file.name} is of other words: `make snapshots` if they are meant", *change]
    )
