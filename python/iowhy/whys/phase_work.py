"""With which file, or files of which kind, each phase of a run was busy, and which program computed in it."""

import os
from collections.abc import Mapping
from pathlib import PurePath

from msgspec import Struct

from iowhy.recordings.sql_text import text_literal
from iowhy.sentences import Sentence, worded
from iowhy.whys import classes
from iowhy.whys.facts import Facts

#: Of the time that a phase waits, or computes, what one file or program has for the phase to be said to be about it.
MOST = 0.5
#: Of that time, what files of one ending have for all to be called so.
NEARLY_ALL = 0.8
#: Of all time but sleep, from which a program has it all: to name it in each phase says nothing.
ALL = 0.9


class Work(Struct, frozen=True):
    """What a phase was about. `path`: the file with most of it; else how many `files` it waits for, most of them with the ending `suffix`, all of
    them in `folder`; None if that is not known. `call`: of a phase that computes in the kernel. `program`: which computes, if others do
    so in other phases."""

    path: str | None = None
    files: int | None = None
    suffix: str | None = None
    folder: str | None = None
    call: str | None = None
    program: str | None = None

    @property
    def said(self) -> Sentence | None:
        """`table.db`, `base/16384`, `4,100 .h files`, `812 files in /srv/mail`; None if no file is known."""
        if self.path is not None:
            return worded("phase-file", "{file}", file=_short(self.path), path=self.path)
        if not self.files:
            return None
        inside = self.suffix is None and self.folder is not None
        return worded(
            "phase-files",
            "{files:count} "
            + ("" if self.suffix is None else "{suffix} ")
            + ("files in {folder}" if inside else "files"),
            files=self.files,
            suffix=self.suffix,
            folder=self.folder,
        )

    @property
    def about(self) -> tuple[object, ...]:
        """By what two phases that do the same differ for a reader."""
        return (self.path, self.suffix, self.path is None and not self.suffix and self.folder, self.call, self.program)  # fmt: skip


NOTHING = Work()


def _short(path: str) -> str:
    """Its name; with the directory's where it could be a word of the sentence."""
    whole = PurePath(path)
    return whole.name if whole.suffix else "/".join(whole.parts[-2:]).lstrip("/") or path


class _Files(Struct, frozen=True):
    path: str | None
    path_share: float
    named_share: float
    files: int
    suffix: str | None
    suffix_share: float | None
    first: str | None
    last: str | None


class _Call(Struct, frozen=True):
    name: str
    path: str | None
    share: float


class _Program(Struct, frozen=True):
    comm: str
    share: float
    whole_share: float


def works(facts: Facts, kinds: Mapping[int, str]) -> dict[int, Work]:
    """By phase, for the class of most of its time."""
    waits = {number: cls for number, cls in kinds.items() if cls in _WAITS}
    computes = [number for number, cls in kinds.items() if cls in classes.CPU]
    kernel = [number for number in computes if kinds[number] == classes.KERNEL]
    found = {number: _of_files(one) for number, one in _files(facts, waits).items()}
    programs = _programs(facts, computes)
    calls = _calls(facts, kernel)
    for number in computes:
        program, call = programs.get(number), calls.get(number)
        found[number] = Work(
            path=None if call is None else call.path,
            call=None if call is None else call.name,
            program=None if program is None else program.comm,
        )
    return found


_WAITS = frozenset({*classes.STORAGE, classes.THROTTLED})


def _of_files(found: _Files) -> Work:
    if found.path is not None and found.path_share >= MOST:
        return Work(path=found.path)
    if found.named_share < NEARLY_ALL or found.files < 2:
        return NOTHING
    alike = found.suffix is not None and (found.suffix_share or 0.0) >= NEARLY_ALL
    return Work(
        files=found.files,
        suffix=found.suffix if alike else None,
        folder=_folder(found.first, found.last),
    )


def _folder(first: str | None, last: str | None) -> str | None:
    """That all are in: what the first and the last one by name share, all share; None if it is the system's root."""
    if not (first or "").startswith("/") or not (last or "").startswith("/"):
        return None
    shared = os.path.commonpath([PurePath(one or "").parent for one in (first, last)])
    return None if shared == "/" else shared


def _files(facts: Facts, kinds: Mapping[int, str]) -> dict[int, _Files]:
    if not kinds or not facts.relations.has("waits"):
        return {}
    mine = ", ".join(f"({number}, {text_literal(cls)})" for number, cls in kinds.items())
    rows = facts.relations.by(_Files, _FILES.format(mine=mine))
    return {int(str(number)): row for (number,), row in rows.items()}


# A wait that goes on into another phase counts where it begins. What has no file (names, a ring) has no path.
_FILES = """
WITH w AS (
    SELECT p.phase, w.dev, w.ino, sum(w.dur_ns)::DOUBLE AS waited_ns
    FROM waits w
    JOIN wait_classes c ON c.reason IS NOT DISTINCT FROM w.reason AND c.syscall IS NOT DISTINCT FROM w.syscall AND c.io IS NOT DISTINCT FROM w.io
    JOIN budget_classes b ON b.key = c.class
    JOIN phases p ON w.ts_ns >= p.begin_ns AND w.ts_ns < p.end_ns
    WHERE (p.phase, b.class) IN ({mine})
    GROUP BY p.phase, w.dev, w.ino
), f AS (
    SELECT w.phase, w.waited_ns, n.path, nullif(regexp_extract(n.path, '[^/.](\\.[A-Za-z][A-Za-z0-9_+]{{0,7}})$', 1), '') AS suffix
    FROM w LEFT JOIN named_files n ON n.dev = w.dev AND n.ino = w.ino AND n.kind = 'file'
), s AS (
    SELECT phase, suffix, sum(waited_ns) AS waited_ns FROM f WHERE suffix IS NOT NULL GROUP BY phase, suffix
), e AS (
    SELECT phase, arg_max(suffix, waited_ns) AS suffix, max(waited_ns) AS waited_ns FROM s GROUP BY phase
)
SELECT f.phase, arg_max(f.path, f.waited_ns) FILTER (f.path IS NOT NULL) AS path,
    coalesce(max(f.waited_ns) FILTER (f.path IS NOT NULL), 0) / greatest(sum(f.waited_ns), 1) AS path_share,
    coalesce(sum(f.waited_ns) FILTER (f.path IS NOT NULL), 0) / greatest(sum(f.waited_ns), 1) AS named_share,
    count(f.path) AS files, any_value(e.suffix) AS suffix, any_value(e.waited_ns) / greatest(sum(f.waited_ns), 1) AS suffix_share,
    min(f.path) AS first, max(f.path) AS last
FROM f LEFT JOIN e ON e.phase = f.phase
GROUP BY f.phase
"""


def _calls(facts: Facts, phases: list[int]) -> dict[int, _Call]:
    """Of phases that compute in the kernel, the call that does most of it, with the file if that is one."""
    if not phases or not facts.relations.has("syscalls"):
        return {}
    rows = facts.relations.by(_Call, _CALLS.format(mine=", ".join(map(str, phases))))
    return {int(str(number)): row for (number,), row in rows.items() if row.share >= MOST}


_CALLS = """
WITH c AS (
    SELECT p.phase, o.name, o.dev, o.ino, sum(o.cpu_ns)::DOUBLE AS cpu_ns
    FROM syscalls o JOIN phases p ON o.ts_ns >= p.begin_ns AND o.ts_ns < p.end_ns
    WHERE p.phase IN ({mine}) AND o.cpu_ns > 0
    GROUP BY p.phase, o.name, o.dev, o.ino
), k AS (
    SELECT p.phase, sum(t.cpu_kernel_ns) AS cpu_ns
    FROM thread_time t JOIN phases p ON t.ts_ns >= p.begin_ns AND t.ts_ns < p.end_ns
    WHERE p.phase IN ({mine}) GROUP BY p.phase
), n AS (
    SELECT c.phase, c.name, sum(c.cpu_ns) AS cpu_ns, max(c.cpu_ns) AS most_ns, arg_max(c.dev, c.cpu_ns) AS dev, arg_max(c.ino, c.cpu_ns) AS ino,
        row_number() OVER (PARTITION BY c.phase ORDER BY sum(c.cpu_ns) DESC, c.name) AS place
    FROM c GROUP BY c.phase, c.name
)
SELECT n.phase, n.name, CASE WHEN n.most_ns >= {most} * n.cpu_ns THEN f.path END AS path, n.cpu_ns / greatest(k.cpu_ns, n.cpu_ns) AS share
FROM n JOIN k ON k.phase = n.phase LEFT JOIN named_files f ON f.dev = n.dev AND f.ino = n.ino AND f.kind = 'file'
WHERE n.place = 1
""".replace("{most}", str(MOST))


def _programs(facts: Facts, phases: list[int]) -> dict[int, _Program]:
    """Which program computes, if it is not always the same one."""
    if not phases:
        return {}
    rows = facts.relations.by(_Program, _PROGRAMS.format(mine=", ".join(map(str, phases))))
    return {
        int(str(number)): row
        for (number,), row in rows.items()
        if row.share >= MOST and row.whole_share < ALL
    }


_PROGRAMS = """
WITH c AS (
    SELECT p.phase, n.program AS comm, sum(coalesce(t.cpu_user_ns, 0) + coalesce(t.cpu_kernel_ns, 0))::DOUBLE AS cpu_ns,
        sum(t.interval_ns - coalesce(t.sleeping_ns, 0))::DOUBLE AS active_ns
    FROM thread_time t JOIN phases p ON t.ts_ns >= p.begin_ns AND t.ts_ns < p.end_ns JOIN named_processes n ON n.tgid = t.tgid
    GROUP BY p.phase, n.program
), w AS (
    SELECT *, sum(cpu_ns) OVER (PARTITION BY phase) AS phase_ns, sum(active_ns) OVER (PARTITION BY comm) AS own_ns,
        sum(active_ns) OVER () AS whole_ns,
        row_number() OVER (PARTITION BY phase ORDER BY cpu_ns DESC, comm) AS place
    FROM c WHERE comm IS NOT NULL
)
SELECT phase, comm, cpu_ns / greatest(phase_ns, 1) AS share, own_ns / greatest(whole_ns, 1) AS whole_share
FROM w WHERE place = 1 AND phase IN ({mine})
"""
