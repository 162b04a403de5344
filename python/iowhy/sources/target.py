"""The target of a diagnosis: processes (`--pid`) in texts that are of a whole machine."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

from iowhy.errors import Problem
from iowhy.recordings.stored_rows import StoredRows
from iowhy.sources.format import Part

#: What a row of these is of: a process, or one thread of it.
TABLES = (
    "syscalls", "syscall_totals", "thread_time", "waits", "page_cache", "dirty_throttle", "allocations",
    "process_io",
)  # fmt: skip


def process_tree(
    threads: Iterable[Mapping[str, object]], pids: Collection[int]
) -> tuple[set[int], set[int]]:
    """The threads and the processes of `pids` and of all that they forked (tids, tgids)."""
    known = [(_number(t["tid"]), _number(t["tgid"]), t.get("ppid")) for t in threads]
    tgids = set(pids)
    # A number may be that of a thread: its process is meant.
    tgids |= {tgid for tid, tgid, _ in known if tid in tgids}
    before = 0
    while before < len(tgids):
        before = len(tgids)
        tgids |= {tgid for _, tgid, ppid in known if ppid in tgids}
    return {tid for tid, tgid, _ in known if tgid in tgids} | tgids, tgids


def _number(value: object) -> int:
    return int(str(value))


def restrict(
    parts: Sequence[Part], named: Sequence[Mapping[str, object]], pids: Collection[int]
) -> None:
    """Leave the other processes' rows out of the parts; their requests stay as others' load.

    `named` are threads that no part has in its own table. Raises Problem when no input has any of `pids`.
    """
    threads = [*named]
    for part in parts:
        threads += _rows(part.parsed.tables.get("threads", []))
    tids, tgids = process_tree(threads, pids)
    kept = 0
    for part in parts:
        tables = part.parsed.tables
        for name in TABLES:
            if name in tables:
                table = _filtered(tables[name], tids, tgids)
                tables[name] = table
                kept += len(table)
        if "block_requests" in tables:
            requests = _scoped(tables["block_requests"], tids)
            tables["block_requests"] = requests
            kept += sum(row.get("in_scope") is True for row in _rows(requests))
    if not kept:
        seen = Counter(f"{t.get('comm') or '?'} ({t['tgid']})" for t in threads)
        some = ", ".join(name for name, _ in seen.most_common(8))
        asked = ", ".join(map(str, sorted(pids)))
        if not some:
            raise Problem("inputs-without-processes", asked=asked)
        raise Problem("pid-not-in-inputs", asked=asked, some=some)


def _rows(table: list[dict[str, object]] | StoredRows) -> list[dict[str, object]]:
    return table.rows() if isinstance(table, StoredRows) else table


def _filtered(
    table: list[dict[str, object]] | StoredRows, tids: set[int], tgids: set[int]
) -> list[dict[str, object]] | StoredRows:
    if isinstance(table, StoredRows):
        chosen = _among("tgid", tgids)
        if "tid" in table.columns:
            chosen += f" OR {_among('tid', tids)}"
        return table.replace({}, chosen)
    return [row for row in table if row.get("tgid") in tgids or row.get("tid") in tids]


def _scoped(
    table: list[dict[str, object]] | StoredRows, tids: set[int]
) -> list[dict[str, object]] | StoredRows:
    """Requests of the processes are in scope, those of kernel threads unknown, as they were."""
    if not isinstance(table, StoredRows):
        return [
            row if row.get("in_scope") is None else {**row, "in_scope": row.get("tid") in tids}
            for row in table
        ]
    mine = _among("tid", tids)
    return table.replace({"in_scope": f"CASE WHEN in_scope IS NOT NULL OR {mine} THEN {mine} END"})


def _among(column: str, numbers: set[int]) -> str:
    """SQL: whether a column has one of the numbers; false if it is NULL."""
    return (
        f"coalesce({column} IN ({', '.join(map(str, sorted(numbers)))}), false)"
        if numbers
        else "false"
    )
