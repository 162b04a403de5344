"""Which files and calls the time of synchronous calls is of: what a setting that concerns some of them can end."""

from collections.abc import Sequence
from dataclasses import dataclass

from iowhy.relations import Relations


@dataclass(frozen=True)
class _Time:
    concerned_ns: int | None
    all_ns: int | None


def share_of_syncs(
    relations: Relations, files: Sequence[str], spared: Sequence[str], calls: Sequence[str]
) -> float | None:
    """Of the time in sync calls, the share of those that a setting is about; None where none was recorded.

    `files` are patterns of paths (GLOB; none: any file), `spared` those that it leaves alone, `calls` names of
    calls (none: any). A file whose path is not known may be one of them and counts; a call without a file (`sync`)
    is about all of them, and counts only where any file does.
    """
    if not relations.has("syscalls"):
        return None
    matches = " OR ".join(["f.path IS NULL", *(f"f.path GLOB {_quoted(one)}" for one in files)])
    about = [f"s.ino IS NOT NULL AND ({matches})"] if files else []
    about += [f"NOT coalesce(f.path GLOB {_quoted(one)}, false)" for one in spared]
    if calls:
        names = ", ".join(_quoted(one) for one in calls)
        about.append(f"split_part(s.name, ' ', 1) IN ({names})")
    [found] = relations.read(
        _Time,
        f"""
        SELECT sum(s.dur_ns) FILTER (WHERE {" AND ".join(about) or "true"}) AS concerned_ns,
          sum(s.dur_ns) AS all_ns
        FROM sync_calls AS s LEFT JOIN named_files AS f ON f.dev = s.dev AND f.ino = s.ino
        """,
    )
    return (found.concerned_ns or 0) / found.all_ns if found.all_ns else None


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
