"""What a database's sessions wait for at one moment: PostgreSQL's pg_stat_activity, MySQL's and MariaDB's list of processes.

PostgreSQL's documentation, "Wait Events"; MySQL's manual, "General Thread States". As psql and mysql print tables.
"""

import re
from collections import Counter
from collections.abc import Mapping

from iowhy.sources.format import Block, Parsed
from iowhy.sources.formats import _table

NAME = "sessions"
TOOL = "sessions"
HINT = r"\|\s*wait_event\s*\||^\W*Id\s*\|\s*User\s*\|\s*Host\s*\|"

#: What a wait is for; the first that fits. Of PostgreSQL "type: event", of MySQL the state.
_KINDS = {
    kind: re.compile(pattern, re.IGNORECASE)
    for kind, pattern in (
        ("commit", r"IO: WAL\w*|LWLock: WAL(?:Write|Insert)\w*|waiting for handler commit|.*(?:flushing|syncing).*log.*|.*semi-?sync.*|IPC: SyncRep"),
        ("temporary_file", r"IO: BufFile\w+|.*tmp table on disk.*|converting HEAP to \w+.*|Creating sort index"),
        ("reading", r"IO: (?:DataFile(?:Read|Prefetch)|SLRURead)"),
        ("writing", r"IO: (?:DataFile|Checkpoint|ControlFile|SLRU|Relation)\w+|LWLock: BufferIO"),
        ("lock", r"Lock: \w+|.*(?:metadata|table|level|row) lock.*|Locked"),
    )
}  # fmt: skip
#: Not at work: clients that ask nothing, and the server's own.
_RESTS = frozenset({"Sleep", "Daemon", "Binlog Dump", "Binlog Dump GTID", "Slave_IO", "Connect"})
_RULE = re.compile(r"[-+|= ]+|\(\d+ rows?\)|\d+ rows in set.*")


def read(block: Block) -> Parsed:
    """Into measurements: of each server its sessions at work, and those of them that wait for one kind of thing."""
    parsed = Parsed(TOOL)
    columns: list[str] = []
    found: Counter[tuple[str, str]] = Counter()
    for at, line in parsed.lines(block):
        if _RULE.fullmatch(line.strip()):
            continue
        cells = _table.cells(line)
        if "wait_event" in cells or cells[:3] == ["Id", "User", "Host"]:
            columns = cells
        elif not columns or len(cells) < len(columns):
            parsed.reject(at, line)
        else:
            # A statement may have bars, too; it comes last.
            row = dict(zip(columns, cells, strict=False))
            server, wait = _wait(row)
            if wait is not None:
                found[server, "at_work_sessions"] += 1
                kind = next((kind for kind, one in _KINDS.items() if one.fullmatch(wait)), None)
                if kind is not None:
                    found[server, f"{kind}_sessions"] += 1
    for (server, metric), number in found.items():
        parsed.measure(server, metric, float(number))
    if found:
        parsed.partial = "one moment"
        parsed.missing.append("sudo iowhy run -p {pid} --statements --duration 30s")
    return parsed


def _wait(row: Mapping[str, str]) -> tuple[str, str | None]:
    """The server, and what a session at work waits for ("": for nothing that is known); None of one that is not at work."""
    if "wait_event" in row:
        works = row.get("state", "active") == "active" and row["wait_event"] != "ClientRead"
        named = f"{row.get('wait_event_type', 'IO')}: {row['wait_event']}"
        return "PostgreSQL", (named if row["wait_event"] else "") if works else None
    return "MySQL", None if row.get("Command") in _RESTS else row.get("State", "")
