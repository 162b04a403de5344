"""Tools whose output is recognised but not read: the answer names them, and what to run instead.

One entry each. A tool that gets a module in `formats` leaves this list.
"""

import re
from collections.abc import Iterable
from typing import Protocol

from msgspec import Struct


class Line(Protocol):
    """A line that nothing understood."""

    @property
    def text(self) -> str: ...


class Tool(Struct, frozen=True):
    """A tool, a pattern that only its output has, and the command that says the same in a form that is read."""

    name: str
    pattern: str
    instead: str

    def sentence(self) -> str:
        """What to say of it."""
        return f"{self.name} is recognised, but not read: run `{self.instead}` instead"


TOOLS = (
    Tool("df", r"^Filesystem\s+\S+\s+Used\s+Avail\S*\s+(?:Use%|Capacity)", "iostat -x 1 10"),
    Tool("lsblk", r"^NAME\s+(?:FSTYPE.*|MAJ:MIN\s+RM\s+SIZE\s+RO\s+TYPE\s+MOUNTPOINTS?)", "iostat -x 1 10"),
)  # fmt: skip


def tools(lines: Iterable[Line]) -> list[Tool]:
    """The tools that the lines are of, each once, in the order in which they come."""
    any_of = re.compile("|".join(f"(?:{tool.pattern})" for tool in TOOLS))
    found: dict[str, Tool] = {}
    for line in lines:
        text = line.text[:512]
        if any_of.search(text) is None:
            continue
        for tool in TOOLS:
            if re.search(tool.pattern, text):
                found.setdefault(tool.name, tool)
                break
    return list(found.values())
