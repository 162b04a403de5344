"""Logs of `strace`: -f, -ttt, -tt, -t, -r, -T, -y, -yy, to a file or a terminal.

Layout: strace(1). A call that others interrupt is printed in two lines (`<unfinished ...>`,
`<... read resumed>`), joined here by thread. Durations are those of -T; without it only the joined calls have one.
Descriptors are named by -y, else by the open that returned them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import cast

import pyarrow as pa

from iowhy.sources.format import Block, Claim, Parsed, Progress
from iowhy.sources.names import Names
from iowhy.sources.tracing import lines as text
from iowhy.sources.tracing.calls import SHAPES, errno_table, sql_list
from iowhy.sources.tracing.sched import interval
from iowhy.sources.tracing.workspace import Workspace, space_for

NAME = "strace"
TOOL = "strace"
HINT = r"\) += (-?\d|\?|0x)|<unfinished \.\.\.>|resumed>"

_LINE = re.compile(
    r"\s*(\[pid +\d+\] |\d+ +)?((\d\d:\d\d:\d\d(\.\d+)?|\d+\.\d+) +)?"
    r"([a-z_]\w*\(.*(\) += (-?\d+|0x[0-9a-f]+|\?).*|<unfinished \.\.\.>|strace: Process \d+ attached)"
    r"|<\.\.\. \w+ resumed>.*|\+\+\+ .* \+\+\+|--- .* ---)\s*$"
)

#: tid (two places), time, call, resumed call, other line.
_HEAD = (
    r"^\s*(?:\[pid +(\d+)\] |(\d+) +)?"
    r"(?:(\d\d:\d\d:\d\d(?:\.\d+)?|\d+\.\d+)(?: +\(\+ +[\d.]+\))? +)?(?:\[ ?[0-9a-f?]+\] )?"
    r"(?:([a-z_]\w*)\(|<\.\.\. (\w+) resumed>|(\+\+\+|---|strace: ))"
)
#: result, what follows it, duration.
_TAIL = r"\)\s+= (-?\d+|0x[0-9a-f]+|\?)(.*?)(?: <(\d+\.\d+)>)?\s*$"
#: the last three plain arguments and the result's sign, in text behind the last quote.
_LAST = r"(?:(?:([-\w|]+), )?([-\w|]+), )?([-\w|]+)\)\s+= (?:-?\d|0x|\?)"
#: The end of a call's first half; on a terminal strace's own message may cut it too.
_UNFINISHED = r"\s*(?:<unfinished \.\.\.>|strace: Process \d+ attached)\s*$"
_QUOTED = r'"((?:[^"\\]|\\.)*)"'

#: Positions of length and offset counted from the last argument (1): texts before it may hold commas.
_LENGTH_FROM_END = {
    1: (
        "read", "write", "getdents", "getdents64", "sendfile", "sendfile64", "fallocate", "readahead",
        "ftruncate", "truncate",
    ),
    2: (
        "pread64", "pwrite64", "pread", "pwrite", "copy_file_range", "splice", "tee", "msync",
        "madvise", "sync_file_range", "fadvise64",
    ),
}  # fmt: skip
_OFFSET_FROM_END = {
    1: ("pread64", "pwrite64", "pread", "pwrite", "preadv", "pwritev"),
    2: ("fallocate", "readahead", "preadv2", "pwritev2"),
    3: ("sync_file_range", "fadvise64"),
}
_VECTORS = tuple(name for name, shape in SHAPES.items() if shape.vector)
#: Calls whose result is a descriptor of a file with a name.
_OPENS = ("open", "openat", "openat2", "creat")
#: Calls on a file by its name.
_NAMED = ("truncate", "unlink", "unlinkat", "rename", "renameat", "renameat2")
#: Calls after which a descriptor is something else.
_OTHER_FDS = (
    "socket", "accept", "accept4", "dup", "dup2", "dup3", "epoll_create", "epoll_create1",
    "eventfd", "eventfd2", "timerfd_create", "memfd_create", "signalfd4", "inotify_init1",
)  # fmt: skip
_CLONES = ("clone", "clone3", "fork", "vfork")


def sniff(lines: Sequence[str], at: int) -> Claim | None:
    """A line with a call and its result, or half of one, in strace's layout."""
    if _LINE.match(lines[at][:4096]) is None:
        return None
    # C code and prose have calls too; a prefix, a duration or a second line makes it strace.
    near = sum(_LINE.match(line[:4096]) is not None for line in lines[at : at + 4])
    return Claim(0.9 if near > 1 else 0.6, again=True)


def sniff_head(head: bytes) -> float | None:
    """Most of the first whole lines look like strace's."""
    sample = head.decode("utf-8", errors="replace").splitlines()[:-1][:200]
    sample = [line for line in sample if line.strip()]
    if not sample:
        return None
    hits = sum(_LINE.match(line[:4096]) is not None for line in sample)
    return 0.95 if hits >= 0.8 * len(sample) else None


def read(block: Block) -> Parsed:
    """A log in a paste."""
    with Workspace(on_disk=False) as space:
        return _parse(space, text.whole(block), block.names)


def stream(path: Path, names: Names, progress: Progress) -> Parsed:
    """A log in a file of any size."""
    with space_for(path) as space:
        return _parse(space, text.from_path(path, progress), names)


# --- lines --------------------------------------------------------------------------------------


def _time(token: str) -> str:
    """Nanoseconds of an -ttt, -tt, -t or -r time."""
    return f"""CASE WHEN {token} = '' THEN NULL
        WHEN contains({token}, ':') THEN
            (TRY_CAST(left({token}, 2) AS BIGINT) * 3600 + TRY_CAST(substr({token}, 4, 2) AS BIGINT) * 60
             + TRY_CAST(substr({token}, 7, 2) AS BIGINT)) * 1000000000
            + TRY_CAST(rpad(left(split_part({token}, '.', 2), 9), 9, '0') AS BIGINT)
        ELSE TRY_CAST(split_part({token}, '.', 1) AS BIGINT) * 1000000000
            + TRY_CAST(rpad(left(split_part({token}, '.', 2), 9), 9, '0') AS BIGINT) END"""


def _pick(positions: dict[int, tuple[str, ...]]) -> str:
    cases = " ".join(
        f"WHEN name IN {sql_list(names)} THEN TRY_CAST(last.a{at} AS BIGINT)"
        for at, names in positions.items()
    )
    return f"CASE {cases} END"


def _heads(source: str) -> str:
    """n, line, tid, ts_ns, name, resumed, mark of each line; all empty where it is not strace's."""
    return f"""
        SELECT n, line, TRY_CAST(coalesce(nullif(h.p, ''), nullif(h.q, '')) AS BIGINT) AS tid,
            {_time("h.t")} AS ts_ns, contains(h.t, ':') AS of_day,
            h.c AS name, h.r AS resumed, h.m AS mark
        FROM (SELECT n, line,
            regexp_extract(left(line, 400), '{_HEAD}', ['p', 'q', 't', 'c', 'r', 'm']) AS h
            FROM {source})"""


def _calls(source: str) -> str:
    """Whole calls of `source` (n, line, tid, ts_ns, of_day, name), taken apart."""
    io = sql_list(SHAPES)
    opens = sql_list(_OPENS)
    named = sql_list((*SHAPES, "close", *_OPENS))
    return f"""
        SELECT n, tid, ts_ns, of_day, name,
            CASE WHEN error <> '' THEN -coalesce(errno, 1)
                 WHEN starts_with(tail.ret, '0x') THEN 0
                 ELSE TRY_CAST(tail.ret AS BIGINT) END AS ret,
            (error <> '' AND error NOT LIKE 'ERESTART%') AS failed,
            tail.ret = '' AS broken,
            CASE WHEN tail.dur <> '' THEN
                TRY_CAST(split_part(tail.dur, '.', 1) AS BIGINT) * 1000000000
                + TRY_CAST(rpad(left(split_part(tail.dur, '.', 2), 9), 9, '0') AS BIGINT) END AS dur_ns,
            TRY_CAST(first.fd AS BIGINT) AS fd,
            CASE WHEN name IN {opens} THEN
                coalesce(nullif(regexp_extract(tail.rest, '^<(/[^<>]*)', 1), ''), quoted)
                WHEN name IN {sql_list(_NAMED)} THEN quoted
                WHEN starts_with(first.path, '/') THEN first.path END AS path,
            first.path <> '' AS has_name,
            CASE WHEN name IN {sql_list(_VECTORS)} THEN
                CASE WHEN NOT contains(line, '...]') THEN
                list_sum(list_transform(regexp_extract_all(line, 'iov_len=(\\d+)', 1),
                    lambda x: TRY_CAST(x AS INT))) END
                ELSE {_pick(_LENGTH_FROM_END)} END AS bytes,
            {_pick(_OFFSET_FROM_END)} AS "offset",
            CASE WHEN name = 'execve' THEN quoted
                 WHEN name = 'prctl' AND contains(line, 'PR_SET_NAME') THEN quoted END AS comm,
            name IN {sql_list(_CLONES)} AND contains(line, 'CLONE_THREAD') AS thread
        FROM (SELECT *,
            regexp_extract(tail.rest, '^(?:<.*>)? (E[A-Z0-9_]+)', 1) AS error,
            CASE WHEN name IN {named} THEN regexp_extract(left(line, 4600),
                '\\w\\((\\d+)(?:<([^<>]*)(?:<[^<>]*>)?>)?', ['fd', 'path']) END AS first,
            CASE WHEN name IN {io} THEN regexp_extract(regexp_extract(right(line, 400), '[^"]*$'),
                '{_LAST}', ['a3', 'a2', 'a1']) END AS last,
            CASE WHEN name IN ('execve', 'prctl', {opens[1:-1]}, {sql_list(_NAMED)[1:-1]}) THEN
                regexp_extract(left(line, 4600), '{_QUOTED}', 1) END AS quoted
            FROM (SELECT *, CASE WHEN near.ret <> '' THEN near ELSE
                    regexp_extract(line, '.*{_TAIL}', ['ret', 'rest', 'dur']) END AS tail
                FROM (SELECT *,
                    regexp_extract(right(line, 90), '.*{_TAIL}', ['ret', 'rest', 'dur']) AS near
                    FROM ({source})))
            )
        LEFT JOIN errnos USING (error)"""


def _parse(space: Workspace, chunks: Iterator[pa.Table], names: Names) -> Parsed:
    parsed = Parsed(TOOL)
    space.put("errnos", errno_table())
    empty = "(SELECT 1::BIGINT AS n, ''::VARCHAR AS line WHERE false)"
    space.run(f"CREATE TABLE calls AS {_calls(_heads(empty))}")
    space.run(
        "CREATE TABLE halves (n BIGINT, tid BIGINT, ts_ns BIGINT, of_day BOOLEAN, "
        "name VARCHAR, resumed VARCHAR, line VARCHAR)"
    )
    space.run(
        "CREATE TABLE marks (n BIGINT, tid BIGINT, ts_ns BIGINT, of_day BOOLEAN, line VARCHAR)"
    )
    space.run("CREATE TABLE rejects (n BIGINT, line VARCHAR)")
    unfinished = f"regexp_matches(right(line, 48), '{_UNFINISHED}')"
    whole = f"SELECT * FROM heads WHERE name <> '' AND NOT {unfinished}"
    heads = f"CREATE OR REPLACE TEMP TABLE heads AS {_heads('chunk')}"
    total = text.each(
        chunks,
        space,
        [
            heads,
            f"INSERT INTO calls {_calls(whole)}",
            f"""INSERT INTO halves SELECT n, tid, ts_ns, of_day, name, resumed, line FROM heads
                WHERE (name <> '' AND {unfinished}) OR resumed <> ''""",
            "INSERT INTO marks SELECT n, tid, ts_ns, of_day, line FROM heads WHERE mark <> ''",
            """INSERT INTO rejects SELECT n, line FROM heads
                WHERE name = '' AND resumed = '' AND mark = '' AND trim(line, ' \n\t') <> ''""",
        ],
    )
    _main_thread(space)
    _join_halves(space)
    space.run(
        "INSERT INTO rejects SELECT n, name || '(... line without a result' FROM calls "
        "WHERE broken AND name NOT IN ('exit', 'exit_group')"
    )
    space.run("DELETE FROM calls WHERE broken")
    text.reject(parsed, space, "rejects", total)
    parsed.lines_understood = max(0, parsed.lines_understood)
    if not parsed.lines_understood:
        return parsed
    _clock(space, parsed)
    _threads(space, parsed)
    _files(space, names)
    _emit(space, parsed)
    return parsed


def _main_thread(space: Workspace) -> None:
    """Lines without a thread, which strace prints while there is one only, are the first thread's."""
    clones = sql_list(_CLONES)
    found = space.rows(f"""SELECT min(tid) FROM (SELECT tid FROM calls UNION ALL SELECT tid FROM halves)
        WHERE tid IS NOT NULL AND tid NOT IN (
            SELECT ret FROM calls WHERE name IN {clones} AND ret > 0
            UNION ALL SELECT TRY_CAST(regexp_extract(line, '= (\\d+)', 1) AS BIGINT) AS made FROM halves
            WHERE resumed IN {clones} AND made > 0)""")[0][0]
    main = cast(int, found) if found is not None else 1
    for table in ("calls", "halves", "marks"):
        space.run(f"UPDATE {table} SET tid = {main} WHERE tid IS NULL")


def _join_halves(space: Workspace) -> None:
    """Whole lines of the calls that were printed in two, into `calls`."""
    # strace's own message breaks a line on a terminal: its rest follows, without anything before it.
    space.run(f"""CREATE TABLE rests AS SELECT h.n, h.tid, h.name, r.n AS at_n, r.line
        FROM halves h JOIN rejects r ON r.n = h.n + 1
        WHERE regexp_matches(right(h.line, 48), 'attached\\s*$') AND regexp_matches(r.line, '{_TAIL}')""")
    space.run("""DELETE FROM rejects WHERE n IN (SELECT at_n FROM rests)
        OR trim(line, ' \n') = '<unfinished ...>'""")
    space.run("""INSERT INTO halves SELECT at_n, tid, NULL, NULL, '', name, 'resumed>' || line
        FROM rests""")
    space.run(f"""CREATE TABLE joined AS
        SELECT n, tid, ts_ns, of_day, name, resumed_ts, answered,
            regexp_replace(line, '{_UNFINISHED}', '')
                || regexp_replace(answer, '^.*?resumed>', '') AS line
        FROM (SELECT *,
            lead(resumed) OVER mine = name AS answered,
            CASE WHEN lead(resumed) OVER mine = name THEN lead(line) OVER mine ELSE ') = ?' END
                AS answer,
            CASE WHEN lead(resumed) OVER mine = name THEN lead(ts_ns) OVER mine END AS resumed_ts
            FROM halves WINDOW mine AS (PARTITION BY tid ORDER BY n))
        WHERE name <> ''""")
    columns = "n, tid, ts_ns, of_day, name, line"
    space.run(f"INSERT INTO calls {_calls(f'SELECT {columns} FROM joined')}")
    # Never answered: no result. Without -T the second half's time closes the call.
    space.run("""UPDATE calls SET dur_ns = coalesce(calls.dur_ns, joined.resumed_ts - joined.ts_ns)
        FROM joined WHERE joined.n = calls.n""")


def _clock(space: Workspace, parsed: Parsed) -> None:
    """Bring ts_ns to one time line, and say which clock it is."""
    dated = space.rows("""SELECT count(ts_ns), min(ts_ns), bool_or(of_day) FROM
        (SELECT ts_ns, of_day FROM calls UNION ALL SELECT ts_ns, of_day FROM halves)""")[0]
    count, least, of_day = cast(tuple[int, int | None, bool | None], dated)
    if count and not of_day and least is not None and least > 10**17:
        parsed.clock, parsed.units = "wall", "times of -ttt, durations of -T in s"
        return
    if count and of_day:
        parsed.units = "times of day (-tt, -t), durations of -T in s"
        if not space.rows("SELECT count(*) FROM calls WHERE ts_ns % 1000000000 <> 0")[0][0]:
            # -t has whole seconds: their difference is no duration.
            space.run(
                "UPDATE calls SET dur_ns = NULL FROM joined j WHERE j.n = calls.n "
                "AND NOT contains(right(j.line, 16), ' <')"
            )
        shift = """sum(CASE WHEN ts_ns < before - 43200000000000 THEN 86400000000000 ELSE 0 END)
            OVER (ORDER BY n) + ts_ns"""
        source = "SELECT n, ts_ns, lag(ts_ns) OVER (ORDER BY n) AS before FROM times"
    elif count:
        parsed.units = "times since the call before (-r), durations of -T in s"
        shift, source = "sum(ts_ns) OVER (ORDER BY n)", "SELECT n, ts_ns FROM times"
    else:
        parsed.units = "durations of -T in s"
        parsed.note("the log has no times: calls are laid one after the other")
        parsed.missing.append("strace -f -ttt -T -y")
        shift = "coalesce(sum(ts_ns) OVER (ORDER BY n ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0)"
        source = "SELECT n, coalesce(ts_ns, 0) AS ts_ns FROM times"
    column = "ts_ns" if count else "dur_ns"
    halves = "SELECT n, ts_ns FROM halves" if count else "SELECT n, NULL FROM halves"
    marks = "SELECT n, ts_ns FROM marks" if count else "SELECT n, NULL FROM marks"
    space.run(f"""CREATE TABLE times AS SELECT n, max(ts_ns) AS ts_ns FROM
        (SELECT n, {column} AS ts_ns FROM calls UNION ALL {halves} UNION ALL {marks}) GROUP BY n""")
    space.run(f"""CREATE TABLE placed AS SELECT n, sum_ns - min(sum_ns) OVER () AS placed_ns FROM
        (SELECT n, {shift} AS sum_ns FROM ({source}))""")
    for table in ("calls", "marks"):
        space.run(f"UPDATE {table} SET ts_ns = placed_ns FROM placed WHERE placed.n = {table}.n")
    if count and not of_day:
        # The second halves' times were differences too.
        space.run("""UPDATE calls SET dur_ns = p.placed_ns - calls.ts_ns FROM (
            SELECT n, lead(n) OVER (PARTITION BY tid ORDER BY n) AS answer FROM halves) h
            JOIN placed p ON p.n = h.answer JOIN joined j ON j.n = h.n
            WHERE h.n = calls.n AND j.answered AND NOT contains(right(j.line, 16), ' <')""")


def _threads(space: Workspace, parsed: Parsed) -> None:
    """`tids` (tid, tgid): threads share the process of the one that made them; and `threads`."""
    tgid: dict[int, int] = {}
    parent: dict[int, int] = {}
    for maker, made, thread in space.rows(
        f"SELECT tid, ret, thread FROM calls WHERE name IN {sql_list(_CLONES)} AND ret > 0 ORDER BY n"
    ):
        child, mother = cast(int, made), cast(int, maker)
        owner = tgid.get(mother, mother)
        tgid[child] = owner if thread else child
        parent[child] = parent.get(owner, 0) if thread else owner
    space.put(
        "makers",
        pa.table(
            {
                "tid": pa.array(list(tgid), pa.int64()),
                "tgid": pa.array(list(tgid.values()), pa.int64()),
                "ppid": pa.array([parent[t] or None for t in tgid], pa.int64()),
            }
        ),
    )
    space.run("""CREATE TABLE tids AS SELECT tid, coalesce(tgid, tid) AS tgid, ppid FROM
        (SELECT DISTINCT tid FROM calls) LEFT JOIN makers USING (tid)""")
    space.run("""CREATE TABLE comms AS SELECT tid, arg_max(comm, n) AS comm FROM (
        SELECT c.n, t.tid, CASE WHEN c.name = 'execve' THEN left(regexp_extract(comm, '[^/]*$'), 15)
            ELSE comm END AS comm
        FROM calls c JOIN tids t ON t.tid = c.tid OR (c.name = 'execve' AND t.tgid = c.tid)
        WHERE comm <> '' AND coalesce(ret, 0) >= 0) GROUP BY tid""")
    parsed.tables["threads"] = space.table(
        "threads",
        """SELECT t.tid, t.tgid, t.ppid, coalesce(own.comm, mother.comm, above.comm, '?') AS comm,
            s.start_ns, e.end_ns, e.exit_code FROM tids t
        LEFT JOIN comms own ON own.tid = t.tid LEFT JOIN comms mother ON mother.tid = t.tgid
        LEFT JOIN comms above ON above.tid = t.ppid
        LEFT JOIN (SELECT tid, min(ts_ns) AS start_ns FROM calls GROUP BY tid) s ON s.tid = t.tid
        LEFT JOIN (SELECT tid, max(ts_ns) AS end_ns,
            max(TRY_CAST(regexp_extract(line, 'exited with (\\d+)', 1) AS BIGINT)) * 256 AS exit_code
            FROM marks WHERE contains(line, '+++') GROUP BY tid) e ON e.tid = t.tid""",
    )


def _files(space: Workspace, names: Names) -> None:
    """`paths` (path, dev, ino), and the path of descriptors that -y does not name."""
    others = sql_list(_OTHER_FDS)
    space.run(f"""CREATE TABLE opened AS
        SELECT t.tgid, CASE WHEN name = 'close' THEN fd ELSE ret END AS fd, n,
            CASE WHEN name IN {sql_list(_OPENS)} THEN path END AS path
        FROM calls JOIN tids t USING (tid)
        WHERE ret >= 0 AND name IN ('close', {sql_list(_OPENS)[1:-1]}, {others[1:-1]})""")
    space.run(f"""CREATE TABLE used AS
        SELECT c.n, coalesce(c.path, CASE WHEN NOT c.has_name THEN o.path END) AS path
        FROM (SELECT n, tgid, fd, path, has_name FROM calls JOIN tids USING (tid)
            WHERE name IN {sql_list(SHAPES)} AND (fd IS NOT NULL OR path <> '')) c
        ASOF LEFT JOIN opened o ON o.tgid = c.tgid AND o.fd = c.fd AND o.n <= c.n""")
    found = [
        str(row[0])
        for row in space.rows(
            "SELECT path FROM used WHERE path <> '' GROUP BY path ORDER BY min(n)"
        )
    ]
    pairs = [names.file(path) for path in found]
    space.put(
        "paths",
        pa.table(
            {
                "path": pa.array(found, pa.string()),
                "dev": pa.array([pair[0] for pair in pairs], pa.int64()),
                "ino": pa.array([pair[1] for pair in pairs], pa.int64()),
            }
        ),
    )


def _emit(space: Workspace, parsed: Parsed) -> None:
    untimed = cast(
        int, space.rows("SELECT count(*) FROM calls WHERE dur_ns IS NULL AND ret IS NOT NULL")[0][0]
    )
    whole = space.count("calls")
    last = "(SELECT max(ts_ns + coalesce(dur_ns, 0)) FROM calls)"
    parsed.tables["syscalls"] = space.table(
        "syscalls",
        f"""SELECT c.ts_ns, coalesce(c.dur_ns, CASE WHEN ret IS NULL THEN {last} - c.ts_ns END) AS dur_ns,
            t.tgid, c.tid, c.name, c.fd, p.dev, p.ino, c."offset", c.bytes, c.ret
        FROM calls c JOIN tids t USING (tid) LEFT JOIN used u USING (n) LEFT JOIN paths p ON p.path = u.path
        WHERE c.name IN {sql_list(SHAPES)}""",
    )
    parsed.tables["syscall_totals"] = space.table(
        "syscall_totals",
        f"""SELECT {interval("ts_ns", "calls")}, tgid, tid, name,
            count(*) AS calls, count(*) FILTER (failed) AS errors, sum(dur_ns) AS total_ns,
            max(dur_ns) AS max_ns
        FROM calls JOIN tids USING (tid) WHERE dur_ns IS NOT NULL AND ret IS NOT NULL
        GROUP BY ALL""",
    )
    if untimed:
        parsed.note(
            f"{untimed:,} of {whole:,} calls have no duration: strace ran without -T"
            if untimed > whole / 2
            else f"{untimed:,} of {whole:,} calls have no duration"
        )
        parsed.missing.append("strace -f -ttt -T -y")
        for name, calls in space.rows("""SELECT name, count(*) FROM calls
                WHERE dur_ns IS NULL AND ret IS NOT NULL GROUP BY name ORDER BY name"""):
            parsed.add(
                "measurements",
                {
                    "tool": TOOL,
                    "subject": str(name),
                    "metric": "calls",
                    "value": float(cast(int, calls)),
                },
            )
    parsed.note("time on a CPU and time waiting inside a call are not told apart by strace")
