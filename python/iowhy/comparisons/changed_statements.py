"""Which statement of a database takes more or less time than before, and what of it changed."""

import msgspec
from msgspec import Struct

from iowhy.relations import Relations

#: Of all statements' time in the longer of both, a difference from which on one is named.
_LEAST = 0.05
_SHOWN = 5
#: What statements wait for, in a reader's words.
_PARTS = {
    "cpu_ns": "computing",
    "runnable_ns": "waiting for a CPU",
    "read_ns": "reading",
    "write_ns": "writing",
    "sync_ns": "syncing",
    "lock_ns": "locks of the server",
    "other_ns": "other waits",
    "server_ns": "sleeping",
}


class ChangedStatement(Struct, frozen=True):
    """A statement on both sides: how often it was seen to run, how long one run took, None where it did not run, or readings miss
    most of its runs; `part`: what differs most. Of the side that takes longer: the index or table that it reads most of and how (`object`,
    `reads`: statement_objects), the statement that holds the lock for which it waits, and bytes that one run spills, None where not known."""

    statement: str
    before_runs: int
    after_runs: int
    before_ns: float | None
    after_ns: float | None
    part: str
    object: str | None = None
    reads: str | None = None
    holder: str | None = None
    spilled_bytes: int | None = None


_TOTALS = f"""
SELECT coalesce(n.text, t.statement_id) AS statement, t.runs, t.time_ns, t.each_ns, {", ".join(f"t.{name}" for name in _PARTS)},
  b.object, b.reads, h.text AS holder, CAST(m.spilled_bytes / t.runs AS BIGINT) AS spilled_bytes
FROM statement_totals t LEFT JOIN statement_texts n ON n.statement_id = t.statement_id
LEFT JOIN statement_objects b ON b.statement_id = t.statement_id
LEFT JOIN statement_moves m ON m.statement_id = t.statement_id
LEFT JOIN statement_texts h ON h.statement_id = t.holder_id
WHERE t.runs > 0 AND t.backend IS DISTINCT FROM 'iowhy'
"""
_Row = dict[str, object]


def changed_statements(before: Relations, after: Relations) -> tuple[ChangedStatement, ...]:
    """The few whose time differs most; none where statements of one side are not known."""
    first, second = _rows(before), _rows(after)
    if not first or not second:
        return ()
    most = max(sum(_number(row, "time_ns") for row in side.values()) for side in (first, second))
    nothing: _Row = {}
    found = []
    for text in sorted(first.keys() | second.keys()):
        one, other = first.get(text, nothing), second.get(text, nothing)
        difference = _number(other, "time_ns") - _number(one, "time_ns")
        if abs(difference) >= _LEAST * most:
            found.append((abs(difference), _changed(text, one, other, difference)))
    return tuple(made for _, made in sorted(found, key=lambda one: -one[0])[:_SHOWN])


def _changed(text: str, one: _Row, other: _Row, difference: float) -> ChangedStatement:
    sign = 1 if difference >= 0 else -1
    part = max(_PARTS, key=lambda key: sign * (_number(other, key) - _number(one, key)))
    runs = [int(_number(row, "runs")) for row in (one, other)]
    each = [
        _number(row, "each_ns") if row.get("each_ns") is not None else None for row in (one, other)
    ]
    longer = other if difference >= 0 else one
    said = {name: longer.get(name) for name in ("object", "reads", "holder", "spilled_bytes")}
    return msgspec.convert(
        {
            "statement": text,
            "before_runs": runs[0],
            "after_runs": runs[1],
            "before_ns": each[0],
            "after_ns": each[1],
            "part": _PARTS[part],
            **said,
        },
        ChangedStatement,
    )


def _number(row: _Row, key: str) -> float:
    found = row.get(key)
    return float(found) if isinstance(found, int | float) else 0.0


def _rows(relations: Relations) -> dict[str, _Row]:
    with relations.recording.damage_named():
        if not relations.has_statements:
            return {}
        names, rows = relations.table(_TOTALS)
    return {str(row[0]): dict(zip(names, row, strict=True)) for row in rows}
