"""The pictures of docs/reports.md: each report as a terminal shows it, of a recording of docs/recordings. Part of `make pictures`."""

import io
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

from iowhy.reports import reports
from iowhy.reports.document import PICTURES
from tests.docs.recordings import FOLDER, kept

#: A picture shows what a report is like, not all that it holds.
MOST_LINES = 16
_COLUMNS = 100
#: Another tool's numbers are in recordings of what it printed.
PRINTED = FOLDER.parents[1] / "tests" / "sources" / "fixtures" / "innodb-8.0.txt"
#: What only a database's server or a provider's volume gives: no recording here has one.
WITHOUT = frozenset({"statements", "tables", "volume-limits"})
#: A recording in which a report has so many rows shows what it is for.
_ROWS = 3


def main() -> None:
    """Writes docs/pictures/reports/*.svg."""
    to = FOLDER.parent / PICTURES
    to.mkdir(parents=True, exist_ok=True)
    for old in to.glob("*.svg"):
        old.unlink()
    for name in sorted(set(reports()) - WITHOUT):
        (to / f"{name}.svg").write_text(picture(best(name), f"iowhy report {name}"))


def best(name: str) -> str:
    """What is printed of the first recording that has enough rows, or of the one with the most."""
    found: tuple[int, Path] | None = None
    if name == "measurements":
        return printed(name)
    for one in kept():
        rows = int(called("report", name, str(one.path), "--format", "csv").count("\n")) - 1
        if rows > 0 and (found is None or rows > found[0]):
            found = rows, one.path
        if rows >= _ROWS:
            break
    assert found is not None, f"no recording has rows of {name}"
    return called("report", name, str(found[1]))


def printed(name: str) -> str:
    """What a report says of another tool's output."""
    with tempfile.TemporaryDirectory(prefix="iowhy-pictures-") as folder:
        to = Path(folder) / "printed.iowhy"
        called("diagnose", str(PRINTED), "-o", str(to))
        return called("report", name, str(to))


def called(*words: str) -> str:
    """What a call prints, with the colours of a terminal."""
    env = {**os.environ, "COLUMNS": str(_COLUMNS), "FORCE_COLOR": "1", "TERM": "xterm-256color"}
    command = (sys.executable, "-m", "iowhy", *words)
    return subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout


def picture(screen: str, title: str) -> str:
    """A terminal with these lines, as SVG."""
    lines = screen.rstrip("\n").split("\n")
    cut = [*lines[:MOST_LINES], "…"] if len(lines) > MOST_LINES else lines
    out = Console(record=True, width=_COLUMNS, file=io.StringIO(), force_terminal=True)
    out.print(Text.from_ansi("\n".join(cut)), no_wrap=True, crop=False)
    # Without an id of ours it is of a hash, and each picture would differ from the one before.
    made = out.export_svg(title=title, unique_id=title.replace(" ", "-"))
    # A picture fetches nothing: the fonts are those of the reader's machine.
    return re.sub(r"@font-face \{.*?\}\n", "", made, flags=re.DOTALL)


if __name__ == "__main__":
    main()
