"""Makes the man pages and completions that the wheel carries: `python -m iowhy.cli.documents wheel/data`."""

import sys
from pathlib import Path

from iowhy.cli import _manual, _shells
from iowhy.cli._described import pages


def write(folder: Path) -> None:
    """Everything below `folder`, as it lies below a prefix: share/man/man1, share/bash-completion, …"""
    known = list(pages())
    _manual.install(known, folder / "share" / "man" / "man1")
    _shells.install(known, folder / "share")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
