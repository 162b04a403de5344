"""The screens of bcc's and libbpf-tools' `*top`: rows under titles, the load above them, an interval between them."""

import re
from collections.abc import Callable

from iowhy.sources.clock import interval_of
from iowhy.sources.format import Block, Parsed
from iowhy.sources.formats._sysstat import Day
from iowhy.sources.numbers import NS_PER_S

#: Lines above the titles that a screen may begin with.
HEAD = r"^Tracing\.\.\. Output every \d+ secs|^(?:\d\d:\d\d:\d\d )?loadavg: "

_EVERY = re.compile(r"Tracing\.\.\. Output every (\d{1,6}) secs\..*")
_LOADS = re.compile(r"(\d\d:\d\d:\d\d )?loadavg: .*")


def screens(
    block: Block, parsed: Parsed, titles: Callable[[str], bool], row: re.Pattern[str]
) -> tuple[list[list[re.Match[str]]], int]:
    """The rows of each screen, and the nanoseconds that one covers: as the tool, the command or the clock says."""
    interval = interval_of(block.command)
    found: list[list[re.Match[str]]] = []
    times: list[int] = []
    day = Day(None)
    for at, line in parsed.lines(block):
        text = line.strip()
        if every := _EVERY.fullmatch(text):
            interval = int(every[1]) * NS_PER_S or None
        elif titles(text):
            found.append([])
        elif found and (match := row.fullmatch(line)) is not None:
            found[-1].append(match)
        elif loads := _LOADS.fullmatch(text):
            timed = day.split(loads[1]) if loads[1] else None
            times += [] if timed is None else [timed[0]]
        elif "etaching" not in text:
            parsed.reject(at, line)
    return found, parsed.length_ns(interval, found, times)
