"""What a page of the documentation shows of a call, held against what the call prints.

A block that begins with `$ iowhy …` is a screen. A line `…` stands for any lines, so that a page shows what it talks of.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from tests.command_line import invoke

_BLOCK = re.compile(r"^```\n\$ (iowhy [^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CUT = "…"


@dataclass(frozen=True)
class Screen:
    """A call as it is typed, and the lines that the page shows of what it prints."""

    typed: str
    shown: tuple[str, ...]

    @property
    def parts(self) -> list[list[str]]:
        """What stands between the lines that are left out."""
        parts: list[list[str]] = [[]]
        for line in self.shown:
            if line == CUT:
                parts.append([])
            else:
                parts[-1].append(line)
        return parts


def screens(page: Path) -> list[Screen]:
    """The screens of a page."""
    return [
        Screen(found[1], tuple(found[2].rstrip("\n").split("\n")))
        for found in _BLOCK.finditer(page.read_text())
    ]


def printed(words: list[str]) -> list[str]:
    """What a call prints on a terminal of 100 columns: the answer first, then what is said beside it."""
    done = invoke(words, env={"COLUMNS": "100", "NO_COLOR": "1"})
    assert done.exception is None, done.exception
    return [line.rstrip() for line in done.output.rstrip("\n").split("\n")]


def missing(screen: Screen, lines: list[str]) -> list[str]:
    """The first part of the screen that is not printed in its place; nothing where all are."""
    at = 0
    parts = screen.parts
    for number, part in enumerate(parts):
        last = number == len(parts) - 1
        places = range(at, len(lines) - len(part) + 1)
        if number == 0:
            places = range(1)
        found = next((place for place in places if lines[place : place + len(part)] == part), None)
        if found is None:
            return part
        at = found + len(part)
        if last and part and at != len(lines):
            return [*part, "(more is printed, and no … says so)"]
    return []


def renewed(screen: Screen, lines: list[str]) -> list[str]:
    """The screen of what is printed now: as many lines of each part, from the line that begins with the same word."""
    made: list[str] = []
    parts = screen.parts
    for number, part in enumerate(parts):
        if number:
            made.append(CUT)
        if not part:
            continue
        first = part[0].split(" ")[0]
        start = 0 if number == 0 else _begin(lines, first, -len(part))
        end = len(lines) if len(parts) == 1 else start + len(part)
        made += lines[start:end]
    return made


def _begin(lines: list[str], word: str, otherwise: int) -> int:
    found = [at for at, line in enumerate(lines) if line.split(" ")[0] == word and word]
    return found[0] if found else max(len(lines) + otherwise, 0)


def rewrite(page: Path, screen: Screen, lines: list[str]) -> None:
    """Puts what is printed now in the place of what the page shows."""
    text = page.read_text()
    old = "\n".join([f"```\n$ {screen.typed}", *screen.shown, "```"])
    new = "\n".join([f"```\n$ {screen.typed}", *renewed(screen, lines), "```"])
    assert old in text
    page.write_text(text.replace(old, new, 1))
