"""System calls from enter and exit events: raw_syscalls (numbers) or syscalls (names).

Makes the table `calls` (n, exit_n, ts_ns, dur_ns, tid, tgid, name, fd, offset, bytes, ret), which `sched` splits
into running and waiting before it goes into the recording.
"""

from __future__ import annotations

from iowhy.sources.tracing.calls import numbers_table, shapes_table
from iowhy.sources.tracing.workspace import Workspace


def calls(space: Workspace, machine: str | None) -> None:
    """Pair the events of each thread; what is called and with what."""
    space.put("call_numbers", numbers_table(machine))
    space.put("shapes", shapes_table())
    # Arguments stand in hexadecimal; perf calls its own results so too ("0x1000").
    space.run("""CREATE TABLE call_halves AS
        SELECT n, ts_ns, tid, tgid, starts_with(e.name, 'sys_enter') AS enter,
            CASE WHEN e.name IN ('sys_enter', 'sys_exit') THEN
                coalesce(c.call, 'syscall_' || nr) ELSE regexp_replace(e.name, '^sys_(enter|exit)_', '')
                END AS name,
            CASE WHEN e.name = 'sys_enter' THEN
                string_split(regexp_extract(args, '\\((.*)\\)', 1), ', ')
                WHEN starts_with(e.name, 'sys_enter_') THEN list_transform(
                    regexp_extract_all(args, ': (0x[0-9a-f]+|\\d+)', 1), lambda x:
                    CASE WHEN starts_with(x, '0x') THEN substr(x, 3) ELSE x END) END AS given,
            CASE WHEN e.name = 'sys_exit' THEN TRY_CAST(regexp_extract(args, '= (-?\\d+)', 1) AS BIGINT)
                WHEN starts_with(e.name, 'sys_exit_') THEN CASE
                    WHEN regexp_matches(args, '0x[0-9a-f]+') THEN
                    TRY_CAST(CASE WHEN big > 9223372036854775807 THEN big - (1::HUGEINT << 64)
                        ELSE big END AS BIGINT)
                    ELSE TRY_CAST(regexp_extract(args, '-?\\d+') AS BIGINT) END END AS ret
        FROM (SELECT *, TRY_CAST(regexp_extract(args, 'NR (-?\\d+)', 1) AS BIGINT) AS nr,
            TRY_CAST(TRY_CAST(regexp_extract(args, '0x[0-9a-f]+') AS UBIGINT) AS HUGEINT) AS big
            FROM events WHERE starts_with(name, 'sys_')) e
        LEFT JOIN call_numbers c USING (nr)""")
    space.run(_UNHEXED)
    space.run("""CREATE TABLE calls AS
        SELECT h.n, exit_n, ts_ns, exit_ns - ts_ns AS dur_ns, tid, coalesce(tgid, tid) AS tgid, h.name,
            s.name IS NOT NULL AS io,
            CASE WHEN fd_at IS NOT NULL THEN
                ((unhexed(given[fd_at + 1]) & 4294967295) + 2147483648) % 4294967296 - 2147483648 END AS fd,
            CASE WHEN length_at IS NOT NULL THEN unhexed(given[length_at + 1]) END AS bytes,
            CASE WHEN offset_at IS NOT NULL THEN unhexed(given[offset_at + 1]) END AS "offset",
            exit_ret AS ret
        FROM (SELECT *,
            CASE WHEN NOT lead(enter) OVER mine AND lead(name) OVER mine = name THEN lead(n) OVER mine
                END AS exit_n,
            CASE WHEN exit_n IS NOT NULL THEN lead(ts_ns) OVER mine END AS exit_ns,
            CASE WHEN exit_n IS NOT NULL THEN lead(ret) OVER mine END AS exit_ret,
            lead(n) OVER mine IS NULL AS last
            FROM call_halves WINDOW mine AS (PARTITION BY tid ORDER BY ts_ns, n)) h
        LEFT JOIN shapes s ON s.name = h.name
        WHERE h.enter AND (exit_n IS NOT NULL OR last)""")


#: A signed 64-bit number of hexadecimal digits, NULL if it is none.
_UNHEXED = """CREATE OR REPLACE MACRO unhexed(digits) AS
    TRY_CAST(CASE WHEN TRY_CAST(TRY_CAST('0x' || digits AS UBIGINT) AS HUGEINT) > 9223372036854775807
        THEN TRY_CAST(TRY_CAST('0x' || digits AS UBIGINT) AS HUGEINT) - (1::HUGEINT << 64)
        ELSE TRY_CAST(TRY_CAST('0x' || digits AS UBIGINT) AS HUGEINT) END AS BIGINT)"""
