"""Whether what was typed is somebody else's program, which its user does not change."""

import re
from pathlib import PurePath

from msgspec import Struct

from iowhy.recordings.manifest import Command
from iowhy.recordings.sql_text import text_literal
from iowhy.relations import Relations
from iowhy.whys import classes
from iowhy.whys.facts.programs import seen_paths
from iowhy.whys.facts.subject import INTERPRETERS, single_program

#: Folders that a package manager fills.
_SYSTEM = r"/(usr/(local/)?)?(s?bin|lib(64|exec)?|share|games)/.*|/(opt|snap|nix/store)/.*"
#: A program by its name, or by what the name is a link to if there are several of the kind (update-alternatives(1)): vim.basic, gcc-12.
_NAMED = ".*/{0}|.*/s?bin/{0}[.-][^/]*"
#: Of the time in syncs, or in reads, those of such programs from which they are all that counts.
_MOST = 0.9
#: So many processes of a program are the loop of a script. If each syncs as often as the others, and a file this often at
#: the most, the syncs come with its start and its end; what it does again and again is of its own work.
_LOOP = 8
_SYNCS_PER_FILE = 3
#: Syncs or reads of one process from which the program decides on them, and not the script that starts it for each.
_BY_ITSELF = 5
_PROCESSES = "names AS (SELECT tgid, arg_min(comm, abs(tid - tgid)) AS comm, any_value(ppid) AS ppid FROM threads GROUP BY tgid)"


class Starts(Struct, frozen=True):
    """Processes of one program that a script started, each of which syncs so often."""

    program: str
    processes: int
    syncs: int


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
    named = _NAMED.format(re.escape(PurePath(typed).name))
    there = relations.value(
        bool,
        f"""SELECT count(*) > 0 FROM ({seen_paths(relations)}) AS s
        WHERE regexp_full_match(path, {text_literal(_SYSTEM)}) AND regexp_full_match(path, {text_literal(named)})""",
    )
    return bool(there)


def syncs_decided_there(relations: Relations) -> bool:
    """Whether nearly all syncs are those of programs that came with the system."""
    return _decided_there(relations, "SELECT tid, dur_ns AS ns, 1 AS calls FROM sync_calls")


def reads_decided_there(relations: Relations) -> bool:
    """As `syncs_decided_there`, of what reads data."""
    reads = f"name IN {classes.quoted(classes.DATA_READS)}"
    return _decided_there(
        relations, f"SELECT tid, total_ns AS ns, calls FROM call_sums WHERE {reads}"
    )


def reader(relations: Relations) -> str | None:
    """The program that takes most of the time in reads."""
    reads = f"name IN {classes.quoted(classes.DATA_READS)}"
    return relations.value(
        str,
        f"""WITH {_PROCESSES}
        SELECT n.comm FROM call_sums AS c JOIN names AS n ON n.tgid = c.tgid WHERE c.{reads}
        GROUP BY n.comm ORDER BY sum(c.total_ns) DESC, n.comm LIMIT 1""",
    )


def computes_there(relations: Relations) -> bool:
    """As `syncs_decided_there`, of what computes."""
    if not relations.has("thread_time"):
        return False
    return _decided_there(
        relations, f"SELECT tid, cpu_ns AS ns, {_BY_ITSELF} AS calls FROM thread_totals"
    )


def _decided_there(relations: Relations, calls: str) -> bool:
    """Whether nearly all of some calls are those of programs that came with the system, each with many in one process: no script of
    one's own decides on them, and no code that an interpreter runs. Processes may have more in their names than their program.
    """
    if not all(relations.has(table) for table in ("syscalls", "threads", "files")):
        return False
    ((part,),) = relations.rows(
        f"""
        WITH system AS (
          SELECT DISTINCT left(regexp_extract(path, '[^/]*$'), 15) AS comm FROM ({seen_paths(relations)}) AS s
          WHERE regexp_full_match(path, {text_literal(_SYSTEM)})
        ), processes AS (
          SELECT t.tgid, sum(c.ns) AS ns, sum(c.calls) AS calls FROM ({calls}) AS c
          JOIN threads AS t ON t.tid = c.tid GROUP BY t.tgid
        ), {_PROCESSES}
        SELECT sum(p.ns) FILTER (
            WHERE p.calls >= {_BY_ITSELF} AND EXISTS (
              SELECT 1 FROM system AS s WHERE s.comm = n.comm OR starts_with(n.comm, s.comm || '-')
            ) AND NOT regexp_full_match(n.comm, {text_literal(INTERPRETERS.pattern)})
          ) / nullif(sum(p.ns), 0) FROM processes AS p JOIN names AS n ON n.tgid = p.tgid
        """
    )
    return (part or 0.0) >= _MOST


_STARTS = f"""
WITH {_PROCESSES}, each AS (
  SELECT n.comm, p.comm AS starter, t.tgid, count(*) AS syncs, count(DISTINCT (s.dev, s.ino)) AS files, sum(s.dur_ns) AS ns
  FROM sync_calls AS s JOIN threads AS t ON t.tid = s.tid
  JOIN names AS n ON n.tgid = t.tgid LEFT JOIN names AS p ON p.tgid = n.ppid
  GROUP BY n.comm, p.comm, t.tgid
)
SELECT comm AS program, count(*) AS processes, median(syncs)::BIGINT AS syncs
FROM each
WHERE comm <> starter AND regexp_full_match(starter, {text_literal(INTERPRETERS.pattern)})
GROUP BY comm, starter
HAVING count(*) >= {_LOOP} AND quantile_disc(syncs, 0.25) = quantile_disc(syncs, 0.75)
  AND sum(syncs) <= {_SYNCS_PER_FILE} * sum(files) AND sum(ns) >= {_MOST} * (SELECT sum(ns) FROM each)
"""


def cpu_of_starts(relations: Relations, starts: Starts) -> tuple[float, float]:
    """CPU time of each of these processes, in nanoseconds, and that of all of them as a part (0..1) of all CPU time."""
    if not relations.has("thread_time"):
        return 0.0, 0.0
    ((each, share),) = relations.rows(
        f"""
        WITH {_PROCESSES}, spent AS (
          SELECT t.tgid, sum(c.cpu_ns) AS ns FROM thread_totals AS c JOIN threads AS t ON t.tid = c.tid GROUP BY t.tgid
        )
        SELECT avg(s.ns) FILTER (WHERE n.comm = {text_literal(starts.program)}),
          sum(s.ns) FILTER (WHERE n.comm = {text_literal(starts.program)}) / nullif(sum(s.ns), 0)
        FROM spent AS s JOIN names AS n ON n.tgid = s.tgid
        """
    )
    return each or 0.0, share or 0.0


def syncing_starts(relations: Relations) -> Starts | None:
    """The program that a script starts for each thing, where nearly all syncs come with that; None if there is none."""
    if not all(relations.has(table) for table in ("syscalls", "threads")):
        return None
    return relations.first(Starts, _STARTS)
