"""Whether what was typed is somebody else's program, which its user does not change."""

import re
from pathlib import PurePath

from iowhy.recordings.manifest import Command
from iowhy.recordings.sql_text import text_literal
from iowhy.relations import Relations
from iowhy.whys.facts.programs import seen_paths
from iowhy.whys.facts.subject import INTERPRETERS, single_program

#: Folders that a package manager fills.
_SYSTEM = r"/(usr/(local/)?)?(s?bin|lib(64|exec)?|share|games)/.*|/(opt|snap|nix/store)/.*"
#: Of the time in syncs, those of such programs from which they are all that counts.
_MOST = 0.9
#: Syncs of one process from which the program decides on them, and not the script that starts it for each.
_BY_ITSELF = 5


def somebody_elses(command: Command, relations: Relations) -> bool:
    """Whether it is one program that came with the system; False if that is not known, and of scripts of one's own."""
    if command.mode != "run":
        return False
    typed = single_program(command.argv)
    if typed is None:
        return False
    if "/" in typed:
        return re.fullmatch(_SYSTEM, typed) is not None
    if not relations.has("files"):
        return False
    name = text_literal(PurePath(typed).name)
    there = relations.value(
        bool,
        f"""SELECT count(*) > 0 FROM ({seen_paths(relations)}) AS s
        WHERE regexp_extract(path, '[^/]*$') = {name} AND regexp_full_match(path, {text_literal(_SYSTEM)})""",
    )
    return bool(there)


def syncs_decided_there(relations: Relations) -> bool:
    """Whether nearly all syncs are those of programs that came with the system, each with many in one process: no script of
    one's own decides on them, and no code that an interpreter runs.
    """
    if not all(relations.has(table) for table in ("syscalls", "threads", "files")):
        return False
    ((part,),) = relations.rows(
        f"""
        WITH system AS (
          SELECT DISTINCT left(regexp_extract(path, '[^/]*$'), 15) AS comm FROM ({seen_paths(relations)}) AS s
          WHERE regexp_full_match(path, {text_literal(_SYSTEM)})
        ), processes AS (
          SELECT t.tgid, sum(s.dur_ns) AS ns, count(*) AS syncs FROM sync_calls AS s
          JOIN threads AS t ON t.tid = s.tid GROUP BY t.tgid
        ), names AS (SELECT tgid, arg_min(comm, abs(tid - tgid)) AS comm FROM threads GROUP BY tgid)
        SELECT sum(p.ns) FILTER (
            WHERE p.syncs >= {_BY_ITSELF} AND n.comm IN (SELECT comm FROM system)
            AND NOT regexp_full_match(n.comm, {text_literal(INTERPRETERS.pattern)})
          ) / nullif(sum(p.ns), 0) FROM processes AS p JOIN names AS n ON n.tgid = p.tgid
        """
    )
    return (part or 0.0) >= _MOST
