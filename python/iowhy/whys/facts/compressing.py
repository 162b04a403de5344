"""How much of its computing is of some code, as what compresses: by the stacks of its time on a CPU."""

import re
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from iowhy.recordings.sql_text import text_literal
from iowhy.relations import Relations
from iowhy.whys import classes

#: Libraries that compress, by what they are called, with the method.
_METHODS = {
    "lzma": "xz", "z": "deflate", "z-ng": "deflate", "deflate": "deflate", "isal": "deflate", "zstd": "zstd", "bz2": "bzip2",
    "lz4": "lz4", "brotlienc": "brotli", "snappy": "snappy",
}  # fmt: skip
_LIBRARY = rf"lib({'|'.join(map(re.escape, _METHODS))})[.-].*"
#: Programs that compress in one thread alone, with the method: with less of it their users save time, and with nothing else.
_PROGRAMS = {
    "brotli": "brotli", "bzip2": "bzip2", "lzip": "lzma", "lzop": "lzo", "rzip": "bzip2", "zip": "deflate", "zopfli": "zopfli",
}  # fmt: skip
_CALLS = {
    "reads": classes.quoted(classes.DATA_READS),
    "writes": classes.quoted(classes.DATA_WRITES),
}
#: Functions that undo it: of a library's that have names. What has none may do either.
_UNDOES = r".*(decompress|uncompress|inflate|decode|unpack).*"
#: Of its CPU time, from which that is what it computes.
LEAST = 0.5


class Compressing(Struct, frozen=True):
    """The method, and its part (0..1) of the time on a CPU; `alone`: by a program that does it in one thread."""

    method: str
    share: float
    alone: bool = False


_SPENT = f"""
WITH spent AS (
  SELECT s.user_stack_id, sum(s.class_ns) AS ns
  FROM stack_times AS s JOIN budget_classes AS c ON c.key = s.class
  WHERE c.class IN {classes.quoted(classes.CPU)} GROUP BY s.user_stack_id
)"""

_SHARE = f"""
{_SPENT}, libraries AS (
  SELECT user_stack_id, max(regexp_extract(module, {text_literal(_LIBRARY)}, 1)) AS library,
    bool_or(regexp_full_match(lower(name), {text_literal(_UNDOES)})) AS undoes
  FROM named_frames WHERE regexp_full_match(module, {text_literal(_LIBRARY)}) GROUP BY user_stack_id
)
SELECT l.library AS method, sum(t.ns)::DOUBLE / nullif((SELECT sum(ns) FROM spent), 0) AS share
FROM spent AS t JOIN libraries AS l ON l.user_stack_id = t.user_stack_id WHERE NOT l.undoes
GROUP BY l.library ORDER BY share DESC, method LIMIT 1
"""


_ALONE = f"""
SELECT t.comm AS method, sum(c.cpu_ns)::DOUBLE / nullif((SELECT sum(cpu_ns) FROM thread_totals), 0) AS share, true AS alone
FROM thread_totals AS c JOIN threads AS t ON t.tid = c.tid
WHERE t.comm IN ({", ".join(map(text_literal, _PROGRAMS))})
  -- What takes apart writes more than it reads.
  AND (SELECT sum(done_bytes) FROM call_sums WHERE name IN {_CALLS["writes"]} AND tid = t.tid)
    < (SELECT sum(done_bytes) FROM call_sums WHERE name IN {_CALLS["reads"]} AND tid = t.tid)
GROUP BY t.comm ORDER BY share DESC, method LIMIT 1
"""


def compressing(relations: Relations) -> Compressing | None:
    """The method that most of the time on a CPU is in; None: less than half of it, or it was not seen."""
    if relations.has("thread_time") and relations.has("syscalls") and relations.has("threads"):
        found = relations.first(Compressing, _ALONE)
        if found is not None and found.share >= LEAST:
            return replace(found, method=_PROGRAMS[found.method])
    if not _sampled(relations):
        return None
    found = relations.first(Compressing, _SHARE)
    if found is None or found.share < LEAST:
        return None
    return Compressing(_METHODS[found.method], found.share)


def share_of_code(relations: Relations, patterns: Sequence[str]) -> float | None:
    """Of the time on a CPU, that in libraries, executables or functions of these patterns (GLOB) and what they call; None: not sampled."""
    if not _sampled(relations):
        return None
    asked = " OR ".join(
        f"f.module GLOB {text_literal(one)} OR f.name GLOB {text_literal(one)}" for one in patterns
    )
    return relations.value(
        float,
        f"""
        {_SPENT}
        SELECT coalesce(sum(ns) FILTER (WHERE user_stack_id IN (SELECT f.user_stack_id FROM named_frames AS f WHERE {asked})), 0)::DOUBLE
          / sum(ns)
        FROM spent WHERE user_stack_id IS NOT NULL
        """,
    )


def _sampled(relations: Relations) -> bool:
    return relations.has("stack_samples") and relations.has("user_stacks")
