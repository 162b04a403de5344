"""Recordings made by story, with known answers.

A story is threads that do the same thing evenly over the run, so that every interval looks alike and
the shares are known in advance: "one thread reads 4 KiB at a time in order, 0.5 ms each".
"""

import random
from dataclasses import dataclass, field
from pathlib import Path

from iowhy.recording import Recording
from iowhy.recording.manifest import Host, Manifest, Sensor
from iowhy.recording.writer import write_recording
from iowhy.tables import sensors

MS = 1_000_000
S = 1_000 * MS
KIB = 1024
MIB = 1024 * KIB
GIB = 1024 * MIB
START = 1_000 * S
STEP = 100 * MS
PAGE = 4096

DISK = 8 << 20
FS = 8 << 20 | 1
FILE = 101

Row = dict[str, object]


@dataclass
class Story:
    """Rows of a recording; every method adds to them and returns the story."""

    seconds: float = 4.0
    cpus: int = 4
    tables: dict[str, list[Row]] = field(default_factory=dict)
    missing: set[str] = field(default_factory=set)
    seed: int = 7
    cpu_share: float = 0.0
    recorder_cpu_ns: int = 0

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.device()
        self.file(FILE, "/data/file", 64 * MIB)

    @property
    def elapsed(self) -> int:
        """Length of the run in nanoseconds."""
        return round(self.seconds * S)

    def add(self, table: str, **row: object) -> "Story":
        """One row, as it is."""
        self.tables.setdefault(table, []).append(row)
        return self

    def device(self, dev: int = DISK, name: str = "sda", **more: object) -> "Story":
        """A block device."""
        return self.add("devices", dev=dev, name=name, **more)

    def file(self, ino: int, path: str, size: int = 0, kind: str = "file") -> "Story":
        """A file on the one file system."""
        return self.add("files", dev=FS, ino=ino, path=path, kind=kind, size_bytes=size)

    def thread(
        self,
        tid: int = 10,
        tgid: int = 10,
        *,
        user: float = 0.0,
        kernel: float = 0.0,
        runnable: float = 0.0,
        blocked: float = 0.0,
        unseen: float = 0.0,
    ) -> "Story":
        """One thread in fixed shares of its time; the rest it sleeps."""
        sleeping = 1 - user - kernel - runnable - blocked - unseen
        assert sleeping > -1e-9, "more than the whole time"
        at = START
        while at < START + self.elapsed:
            step = min(STEP, START + self.elapsed - at)
            self.add(
                "thread_time",
                ts_ns=at,
                interval_ns=step,
                tgid=tgid,
                tid=tid,
                cpu_user_ns=int(user * step),
                cpu_kernel_ns=int(kernel * step),
                runnable_ns=int(runnable * step),
                blocked_ns=int(blocked * step),
                sleeping_ns=int(max(0.0, sleeping) * step),
            )
            at += step
        self.cpu_share += user + kernel
        self.add("threads", tid=tid, tgid=tgid, ppid=1, comm=f"worker{tid}", start_ns=START)
        return self

    def caller(
        self,
        name: str,
        count: int,
        *,
        tid: int = 10,
        blocked: int = 0,
        cpu: int = 2_000,
        runnable: int = 0,
        sleeping: int = 0,
        gap: str = "user",
        reason: str | None = "page_read",
        io: bool = True,
        bytes_: int | None = 4 * KIB,
        jump: bool = False,
        ino: int | list[int] | None = FILE,
        gap_share: float = 1.0,
        stack_id: int | None = None,
    ) -> "Story":
        """One thread that makes `count` calls evenly over the run; between them `gap`.

        `gap_share` of the time between calls is on the CPU (gap "user"), the rest asleep.
        """
        period = self.elapsed // count
        length = cpu + runnable + blocked + sleeping
        assert length <= period, f"{count} calls of {length} ns do not fit"
        offset = 0
        inodes = ino if isinstance(ino, list) else [ino]
        for number in range(count):
            at = START + number * period
            one = inodes[number % len(inodes)]
            if jump:
                offset = self.random.randrange(0, 1 << 18) * PAGE
            data = bytes_ is not None
            self.add(
                "syscalls",
                ts_ns=at,
                dur_ns=length,
                cpu_ns=cpu,
                runnable_ns=runnable,
                blocked_ns=blocked,
                sleeping_ns=sleeping,
                tgid=10,
                tid=tid,
                name=name,
                fd=3 if one is not None else None,
                dev=None if one is None else FS,
                ino=one,
                offset=offset if data else None,
                bytes=bytes_,
                ret=bytes_ if data and name != "msync" else 0,
            )
            if blocked and reason is not None:
                self.wait(
                    at + cpu, blocked, reason, name, tid=tid, ino=one, io=io, stack_id=stack_id
                )
            if bytes_ is not None:
                offset += bytes_
        rest = (period - length) / period
        self.thread(
            tid,
            user=rest * gap_share if gap == "user" else 0.0,
            kernel=cpu / period,
            runnable=runnable / period,
            blocked=blocked / period,
        )
        return self

    def wait(
        self,
        at: int,
        length: int,
        reason: str,
        call: str | None,
        *,
        tid: int = 10,
        ino: int | None = FILE,
        io: bool = True,
        stack_id: int | None = None,
    ) -> "Story":
        """One uninterruptible wait."""
        return self.add(
            "waits",
            ts_ns=at,
            dur_ns=length,
            tgid=10,
            tid=tid,
            reason=reason,
            io=io,
            syscall=call,
            dev=FS,
            ino=ino,
            stack_id=stack_id,
        )

    def stack(self, stack_id: int, *frames: str) -> "Story":
        """A kernel stack, innermost function first."""
        return self.add("stacks", stack_id=stack_id, frames=list(frames))

    def idle_call(self, name: str, share: float = 1.0, tid: int = 10) -> "Story":
        """Time in a call that waits for something else than storage."""
        return self.add(
            "syscall_totals",
            ts_ns=START,
            interval_ns=self.elapsed,
            tgid=10,
            tid=tid,
            name=name,
            calls=4,
            errors=0,
            total_ns=int(share * self.elapsed),
        )

    def requests(
        self,
        count: int,
        *,
        op: str = "read",
        bytes_: int = 4 * KIB,
        service: int = MS,
        depth: int = 1,
        jump: bool = False,
        own: bool | None = True,
        kind: str = "data",
        ino: int | None = FILE,
        dev: int = DISK,
        flags: tuple[str, ...] = (),
        tgid: int = 10,
        first: int = 0,
    ) -> "Story":
        """`count` requests over the whole run, in batches of `depth`, each in flight for `service`."""
        batches = -(-count // depth)
        period = self.elapsed // batches
        sector = 2048 if not jump else 0
        made = 0
        for batch in range(batches):
            at = START + batch * period + first
            for _ in range(min(depth, count - made)):
                if jump:
                    sector = self.random.randrange(0, 1 << 24) * 8
                self.add(
                    "block_requests",
                    queue_ns=at,
                    issue_ns=at,
                    complete_ns=at + service,
                    dev=dev,
                    sector=None if op == "flush" else sector,
                    bytes=0 if op == "flush" else bytes_,
                    op=op,
                    flags=list(flags),
                    tgid=tgid,
                    tid=tgid,
                    owner_dev=None if ino is None else FS,
                    owner_ino=ino,
                    owner_page=None,
                    owner_kind=kind,
                    in_scope=own,
                    error=0,
                )
                sector += bytes_ // 512
                made += 1
        return self

    def flushes(self, count: int, service: int) -> "Story":
        """Cache flushes, as the block layer shows them: no data, submitted by a kernel worker."""
        return self.requests(
            count,
            op="flush",
            service=service,
            own=None,
            kind="flush",
            ino=None,
            flags=("preflush",),
        )

    def extents(
        self, count: int, bytes_: int, *, ino: int = FILE, scattered: bool = True
    ) -> "Story":
        """A file of `count` extents, apart from each other or one behind the other."""
        at = 1 << 30
        for number in range(count):
            self.add(
                "extents",
                phase="after",
                dev=FS,
                ino=ino,
                logical_bytes=number * bytes_,
                physical_bytes=at,
                bytes=bytes_,
                flags=[],
            )
            at += bytes_ * (3 if scattered else 1)
        return self

    def allocations(self, count: int, threads: int, ino: int = FILE) -> "Story":
        """Blocks allocated by several threads in turn."""
        for number in range(count):
            self.add(
                "allocations",
                ts_ns=START + number,
                tgid=10,
                tid=10 + number % threads,
                dev=FS,
                ino=ino,
                logical_block=number,
                physical_block=number * 3,
                blocks=1,
            )
        return self

    def cache(
        self,
        *,
        lookups: int,
        misses: int = 0,
        readahead: int = 0,
        used: int | None = None,
        refaults: int | None = 0,
        ino: int = FILE,
        steps: int = 40,
    ) -> "Story":
        """Page cache events, evenly over the run."""
        for step in range(steps):
            self.add(
                "page_cache",
                ts_ns=START + step * (self.elapsed // steps),
                interval_ns=self.elapsed // steps,
                tgid=10,
                dev=FS,
                ino=ino,
                lookup_pages=lookups // steps,
                demand_miss_pages=misses // steps,
                readahead_pages=readahead // steps,
                prefetched_hit_pages=(readahead if used is None else used) // steps,
                refault_pages=None if refaults is None else refaults // steps,
                evicted_pages=0,
                estimated=False,
            )
        return self

    def passes(self, ratios: list[float], pages: int, ino: int = FILE) -> "Story":
        """Passes over a file of `pages`, each with its hit ratio."""
        steps = 10
        for number, ratio in enumerate(ratios):
            for step in range(steps):
                at = (number * steps + step) * (self.elapsed // (steps * len(ratios)))
                added = round(pages / steps * (1 - ratio))
                self.add(
                    "page_cache",
                    ts_ns=START + at,
                    interval_ns=STEP,
                    tgid=10,
                    dev=FS,
                    ino=ino,
                    lookup_pages=pages // steps,
                    demand_miss_pages=added // 8,
                    readahead_pages=added - added // 8,
                    prefetched_hit_pages=added - added // 8,
                    refault_pages=added if number else 0,
                    estimated=False,
                )
        return self

    def machine(self, busy: float | None = None, steal: float = 0.0) -> "Story":
        """Readings of the CPUs every 100 ms: `busy` is a share of all (else what the threads use)."""
        share = self.cpu_share / self.cpus if busy is None else busy
        at = START
        while at <= START + self.elapsed:
            passed = (at - START) * self.cpus
            self.add(
                "cpu_samples",
                ts_ns=at,
                cpu=-1,
                user_ns=int(passed * share * 0.8),
                system_ns=int(passed * share * 0.2),
                idle_ns=int(passed * max(0.0, 1 - share - steal)),
                iowait_ns=0,
                steal_ns=int(passed * steal),
            )
            at += STEP
        return self

    def group(self, **last: object) -> "Story":
        """Two readings of the command's cgroup: counters grow from 0 to what is given."""
        zero: Row = {
            name: 0 if isinstance(value, int) and not name.endswith(LEVELS) else value
            for name, value in last.items()
        }
        self.add("cgroup_samples", ts_ns=START, path="/x", **zero)
        return self.add("cgroup_samples", ts_ns=START + self.elapsed, path="/x", **last)

    def commits(self, count: int, length: int, **phases: int) -> "Story":
        """Journal commits evenly over the run."""
        for number in range(count):
            self.add(
                "journal_commits",
                ts_ns=START + number * (self.elapsed // count),
                dur_ns=length,
                dev=FS,
                kind="jbd2",
                transaction=number,
                **phases,
            )
        return self

    def passes_of_writeback(
        self, count: int, inodes: int, pages: int, reason: str = "background"
    ) -> "Story":
        """Writeback passes over inodes in turn."""
        for number in range(count):
            self.add(
                "writeback",
                ts_ns=START + number * (self.elapsed // count),
                dev=FS,
                ino=1000 + number % inodes,
                reason=reason,
                pages_written=pages,
            )
        return self

    def write(self, folder: Path) -> Recording:
        """The recording."""
        if "cpu_samples" not in self.tables and "cpu_samples" not in self.missing:
            self.machine()
        ran = [
            Sensor(
                name, name not in self.missing, "not permitted" if name in self.missing else None
            )
            for name in sensors()
        ]
        manifest = Manifest.made(
            argv=["made"],
            start_ns=START,
            end_ns=START + self.elapsed,
            sensors=ran,
            host=Host(cpus=self.cpus, memory_bytes=8 * GIB, page_bytes=PAGE),
            exit_status=0,
        )
        return write_recording(folder, manifest, self.tables)


LEVELS = ("limit_bytes", "_per_s", "cores", "memory_bytes", "cached_bytes")


def pasted(folder: Path, tables: dict[str, list[Row]], *, cpus: int | None = None) -> Recording:
    """What `iowhy diagnose` would make of other tools' text."""
    manifest = Manifest.made(source="diagnose", mode="paste", host=Host(cpus=cpus))
    return write_recording(folder, manifest, tables)


def samples(
    *, seconds: int = 10, user: float, system: float, idle: float, iowait: float = 0.0
) -> list[Row]:
    """cpu_samples of a tool that prints shares of all CPUs together, each second."""
    return [
        {
            "ts_ns": at * S,
            "cpu": -1,
            "user_ns": int(at * S * user),
            "system_ns": int(at * S * system),
            "idle_ns": int(at * S * idle),
            "iowait_ns": int(at * S * iowait),
        }
        for at in range(seconds + 1)
    ]


def disk(
    *,
    seconds: int = 10,
    reads: float,
    read_bytes: float,
    wait_ns: float,
    busy: float,
    depth: float,
    dev: int = DISK,
) -> list[Row]:
    """disk_samples of a disk that reads at a steady rate."""
    return [
        {
            "ts_ns": at * S,
            "dev": dev,
            "reads": int(at * reads),
            "read_bytes": int(at * read_bytes),
            "read_ns": int(at * reads * wait_ns),
            "writes": 0,
            "written_bytes": 0,
            "write_ns": 0,
            "busy_ns": int(at * S * busy),
            "queue_ns": int(at * S * busy * depth),
        }
        for at in range(seconds + 1)
    ]
