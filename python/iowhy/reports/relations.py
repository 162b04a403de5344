"""What a report can select from besides the tables of the recording.

Each relation is SQL in DuckDB's dialect. A report names what it needs; the engine puts it in front
as a common table expression, together with a filtered version of each table when filters are
given. `main.NAME` is the table as recorded, plain NAME the filtered one.

- `recording`: one row of facts. start_ns (of the command: the origin of all `_s` columns), end_ns and
  elapsed_ns (of the command, or of the part chosen by --since and --until), cpus, memory_bytes, page_bytes, slice_ns (a round length for reports over
  time), grid_ns (the cells of the budget), and ran_SENSOR, one for each sensor of a recording.
- `call_kinds`: name and kind of the I/O system calls (see calls.py).
- `wait_kinds`: reason, budget and part of the recorder's reasons (see calls.py).
- `every_request`: block_requests without the filters, since flushes and heads belong to everybody.
- `counted_requests`: block_requests with `counted`: false for what is seen again on a device below.
- `request_sequence`: reads and writes as counted_requests, with sent_ns (when issued) and jump_bytes
  (distance from the end of the device's previous request, whoever made it; 0 is sequential).
- `extent_runs`: extents with `starts_run` (does not continue the extent before it on disk) and `run`.
"""

from dataclasses import dataclass

from iowhy.reports.calls import KINDS, WAITS

SENSORS = (
    "syscalls",
    "thread_time",
    "waits",
    "stacks",
    "block_requests",
    "page_cache",
    "lookups",
    "writeback",
    "dirty_throttle",
    "journal_jbd2",
    "journal_xfs",
    "allocations_ext4",
    "allocations_xfs",
    "allocations_btrfs",
    "extents",
    "files",
    "cpu_samples",
    "memory_samples",
    "vm_samples",
    "disk_samples",
    "pressure_samples",
    "cgroup_samples",
    "process_io",
)


@dataclass(frozen=True)
class Facts:
    """What the manifest tells of a recording; times in ns of CLOCK_MONOTONIC, unknown is None."""

    start_ns: int
    end_ns: int
    elapsed_ns: int
    cpus: int | None
    memory_bytes: int | None
    page_bytes: int
    ran: frozenset[str]

    @property
    def slice_ns(self) -> int:
        """A round length that cuts the elapsed time into some ten to some hundred slices."""
        for longest_s, slice_ns in (
            (10, 100_000_000),
            (600, 1_000_000_000),
            (6000, 10_000_000_000),
        ):
            if self.elapsed_ns <= longest_s * 1_000_000_000:
                return slice_ns
        return 60_000_000_000

    @property
    def grid_ns(self) -> int:
        """The cells in which the budget matches waits with time: 100 ms, at most 20,000 of them."""
        return 100_000_000 * max(1, -(-self.elapsed_ns // (100_000_000 * 20_000)))


def relations(facts: Facts) -> dict[str, str]:
    """The relations by name, in an order in which each needs only those before it."""
    return {
        "recording": _recording(facts),
        "call_kinds": _call_kinds(),
        "wait_kinds": _wait_kinds(),
        "every_request": "SELECT * FROM main.block_requests",
        "counted_requests": _COUNTED_REQUESTS,
        "request_sequence": _REQUEST_SEQUENCE,
        "extent_runs": _EXTENT_RUNS,
    }


def _recording(facts: Facts) -> str:
    numbers = {
        "start_ns": facts.start_ns,
        "end_ns": facts.end_ns,
        "elapsed_ns": facts.elapsed_ns,
        "cpus": facts.cpus,
        "memory_bytes": facts.memory_bytes,
        "page_bytes": facts.page_bytes,
        "slice_ns": facts.slice_ns,
        "grid_ns": facts.grid_ns,
    }
    columns = [
        f"CAST({'NULL' if value is None else value} AS BIGINT) AS {name}"
        for name, value in numbers.items()
    ]
    columns += [f"{'true' if name in facts.ran else 'false'} AS ran_{name}" for name in SENSORS]
    return "SELECT " + ", ".join(columns)


def _call_kinds() -> str:
    rows = ", ".join(f"('{name}', '{kind}')" for kind, names in KINDS.items() for name in names)
    return f"SELECT name, kind FROM (VALUES {rows}) AS c(name, kind)"


def _wait_kinds() -> str:
    rows = ", ".join(f"('{reason}', '{kind}', '{part}')" for reason, (kind, part) in WAITS.items())
    return f"SELECT reason, budget, part FROM (VALUES {rows}) AS w(reason, budget, part)"


# A request on a loop device reaches the disk under it as another request; with direct I/O even the
# pages, and so the owner, are the same. It counts on the disk of its owner's filesystem; without an
# owner, on devices that lie below no other device in use.
_COUNTED_REQUESTS = """\
SELECT
    q.*,
    coalesce(f.disk_dev = q.dev, nullif(q.owner_dev = q.dev, false), b.dev IS NULL) AS counted
FROM main.block_requests q
LEFT JOIN (
    SELECT dev, max(disk_dev) AS disk_dev FROM main.filesystems GROUP BY dev
) f ON f.dev = q.owner_dev
LEFT JOIN (
    SELECT DISTINCT below_dev AS dev
    FROM main.devices
    WHERE below_dev IS NOT NULL AND dev IN (SELECT dev FROM main.block_requests)
) b ON b.dev = q.dev"""

_REQUEST_SEQUENCE = f"""\
SELECT
    *,
    coalesce(issue_ns, queue_ns) AS sent_ns,
    sector * 512 - lag(sector * 512 + bytes) OVER (
        PARTITION BY dev ORDER BY coalesce(issue_ns, queue_ns), sector
    ) AS jump_bytes
FROM ({_COUNTED_REQUESTS}) AS c
WHERE op IN ('read', 'write') AND bytes > 0 AND sector IS NOT NULL"""

# As filefrag: an extent continues the one before it when it follows on disk at once, or at the
# distance that the hole between them has in the file.
_EXTENT_RUNS = """\
SELECT
    *,
    sum(CASE WHEN starts_run THEN 1 ELSE 0 END) OVER (
        PARTITION BY phase, dev, ino ORDER BY logical_bytes ROWS UNBOUNDED PRECEDING
    ) AS run
FROM (
    SELECT
        *,
        NOT coalesce(
            physical_bytes = lag(physical_bytes + bytes) OVER (
                PARTITION BY phase, dev, ino ORDER BY logical_bytes
            ) OR physical_bytes - logical_bytes = lag(physical_bytes - logical_bytes) OVER (
                PARTITION BY phase, dev, ino ORDER BY logical_bytes
            ),
            false
        ) AS starts_run
    FROM main.extents
) AS e"""
