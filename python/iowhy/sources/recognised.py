"""Tools whose output is recognised but not read: the answer names them, and what to run instead.

One entry each. A tool that gets a module in `formats` leaves this list.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol


class Line(Protocol):
    """A line that nothing understood."""

    @property
    def text(self) -> str: ...


@dataclass(frozen=True)
class Tool:
    """A tool, a pattern that only its output has, and the command that says the same in a form that is read."""

    name: str
    pattern: str
    instead: str

    def sentence(self) -> str:
        """What to say of it."""
        return f"{self.name} is recognised, but not read: run `{self.instead}` instead"


TOOLS = (
    Tool("collectl", r"^#<-+CPU-+>|^waiting for \d+ second sample", "vmstat 1 10; iostat -x 1 10"),
    Tool("nmon", r"^AAA,progname,|^ZZZZ,T\d{4},", "vmstat 1 10; iostat -x 1 10"),
    Tool("atop", r"^ATOP - \S+", "vmstat 1 10; iostat -x 1 10"),
    Tool("macOS iostat", r"^\s+disk\d(\s+disk\d)*\s+cpu\s+load average", "sudo fs_usage -w -f filesys"),
    Tool("macOS fs_usage", r"^\d\d:\d\d:\d\d(\.\d+)?\s+\w+.*\s[\d.]+ [W ]\s*\S+\.\d+$", "iostat -w 1"),
    Tool("FreeBSD systat", r"^\s+/0\s+/1\s+/2\s+/3\s+/4\s+/5", "vmstat -w 1; iostat -x -w 1"),
    Tool("FreeBSD gstat", r"^\s*L\(q\)\s+ops/s\s+r/s\s+kBps", "iostat -x -w 1 -c 10"),
    Tool("dstat", r"^-+total-cpu-usage-+|^usr sys idl wai", "vmstat 1 10; iostat -x 1 10"),
    Tool("biotop", r"^PID\s+COMM\s+D MAJ MIN DISK", "sudo biosnoop"),
    Tool("filetop", r"^T?PID\s+COMM\s+READS\s+WRITES\s+R_Kb", "strace -f -ttt -T -y -p PID"),
    Tool("iosnoop", r"^COMM\s+PID\s+TYPE\s+DEV\s+BLOCK\s+BYTES\s+LATms", "sudo biosnoop"),
    Tool("syncsnoop", r"^TIME\(s\)\s+CALL\s*$", "strace -f -T -e trace=fsync,fdatasync,sync -p PID"),
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
