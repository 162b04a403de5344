"""Tools whose output is recognised but not read: the answer names them, and what to run instead.

One entry each. A tool that gets a module in `formats` leaves this list.
"""

import re
from collections.abc import Iterable

from msgspec import Struct


class Tool(Struct, frozen=True):
    """A tool, a pattern that only its output has, and the command that says the same in a form that is read."""

    name: str
    pattern: str
    instead: str

    def sentence(self) -> str:
        """What to say of it."""
        return f"{self.name} is recognised, but not read: run `{self.instead}` instead"


TOOLS = (
    Tool("lsblk", r"NAME\s+(?:FSTYPE.*|MAJ:MIN\s+RM\s+SIZE\s+RO\s+TYPE\s+MOUNTPOINTS?)", "iostat -x 1 10"),
    Tool("kubectl top", r"NAME\s+CPU\(cores\)\s+(?:CPU%\s+)?MEMORY\(bytes\)", "iostat -x 1 10"),
    Tool("spew", r"\s*(?:WTR|RTR):\s+[\d.]+ [KMG]iB/s\s+Transfer time:", "fio --name=test --rw=randwrite --bs=4k --size=1g --fsync=1"),
    Tool("vfsstat", r"\s*r/s\s+w/s\s+Mr/s\s+Mw/s\s+ractv\s+wactv", "iostat -xn 1 10"),
)  # fmt: skip


def tools(lines: Iterable[str]) -> list[Tool]:
    """The tools that lines which nothing understood are of, each once."""
    heads = [line[:512] for line in lines]
    return [tool for tool in TOOLS if any(re.match(tool.pattern, head) for head in heads)]
