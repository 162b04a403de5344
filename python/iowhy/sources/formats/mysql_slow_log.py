"""MySQL's and MariaDB's slow query log: commits and other statements that took long, as counts and the longest."""

import re
from collections.abc import Sequence

from iowhy.sources.format import Block, Claim, Parsed
from iowhy.sources.formats import app_log

NAME = "mysql-slow-log"
TOOL = "server log"
HINT = r"^# (?:Time: |User@Host: |Query_time: )"
_TOOK = re.compile(r"# Query_time: ([\d.]{1,15}) +Lock_time: [\d.]{1,15}")
_COMMIT = re.compile(r"\s*commit\b", re.IGNORECASE)
_AROUND = re.compile(r"\s*(?:set timestamp|use )", re.IGNORECASE)
_KINDS = {
    commit: app_log.Kind("MySQL", what, _TOOK)
    for commit, what in ((True, "a commit"), (False, "a statement"))
}


def sniff(lines: Sequence[str], at: int) -> Claim | None:
    """All statements of a log are one output."""
    near = any(_TOOK.match(line) for line in lines[at : at + 5])
    return Claim(0.9, again=True) if near else None


def read(block: Block) -> Parsed:
    """Into measurements, as those of other servers' logs."""
    parsed = Parsed(TOOL, units="the longest of each kind")
    found: dict[bool, app_log.Found] = {}
    took: float | None = None
    for _, line in parsed.lines(block):
        if match := _TOOK.match(line):
            took = float(match[1]) * 1e9
        elif took is not None and not line.startswith("#") and not _AROUND.match(line):
            one = found.setdefault(bool(_COMMIT.match(line)), app_log.Found())
            one.lines += 1
            one.worst, took = max(one.worst, took), None
    for commit, one in found.items():
        app_log.say(parsed, _KINDS[commit], one)
    parsed.missing.append("iostat -x 1 10")
    return parsed
