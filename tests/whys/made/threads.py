"""Threads, the calls that they make, and the waits in them."""

from collections.abc import Sequence
from typing import Self

from .base import FILE, FS, KIB, PAGE, START, STEP, Rows


class Threads(Rows):
    """What threads do, evenly over the run."""

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
        recorder: float | None = None,
        on: Sequence[int] = (),
    ) -> Self:
        """One thread in fixed shares of its time; the rest it sleeps. `recorder` is a part of `kernel`; `on`: the
        CPUs that it may run on, where that is known."""
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
                cpu_recorder_ns=None if recorder is None else int(recorder * step),
                runnable_ns=int(runnable * step),
                blocked_ns=int(blocked * step),
                sleeping_ns=int(max(0.0, sleeping) * step),
            )
            at += step
        self.cpu_share += user + kernel
        self.add(
            "threads",
            tid=tid,
            tgid=tgid,
            ppid=1,
            comm=f"worker{tid}",
            start_ns=START,
            allowed_cpus=len(on) or None,
            allowed_mask=sum(1 << cpu for cpu in on if cpu < 64) if on else None,
        )
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
        ino: int | list[int] | list[int | None] | None = FILE,
        gap_share: float = 1.0,
        stack_id: int | None = None,
    ) -> Self:
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
            parts = {
                "cpu_ns": cpu, "runnable_ns": runnable, "blocked_ns": blocked, "sleeping_ns": sleeping,
            }  # fmt: skip
            self.call(at, name, parts, tid=tid, ino=one, offset=offset, bytes_=bytes_)
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

    def call(
        self,
        at: int,
        name: str,
        parts_ns: dict[str, int],
        *,
        tid: int,
        ino: int | None,
        offset: int,
        bytes_: int | None,
    ) -> Self:
        """One call, whose length is that of its parts; `bytes_` is all that it asked for and got."""
        data = bytes_ is not None
        return self.add(
            "syscalls",
            ts_ns=at,
            dur_ns=sum(parts_ns.values()),
            **parts_ns,
            tgid=10,
            tid=tid,
            name=name,
            fd=3 if ino is not None else None,
            dev=None if ino is None else FS,
            ino=ino,
            offset=offset if data else None,
            bytes=bytes_,
            ret=bytes_ if data and name != "msync" else 0,
        )

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
    ) -> Self:
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

    def stack(self, stack_id: int, *frames: str) -> Self:
        """A kernel stack, innermost function first."""
        return self.add("stacks", stack_id=stack_id, frames=list(frames))

    def ring(
        self,
        op: str,
        count: int,
        *,
        length: int,
        kind: str | None = None,
        api: str = "io_uring",
        asleep_in: str = "io_uring_enter",
        depth: int = 1,
        jump: bool = False,
        ended: bool = True,
        **more: object,
    ) -> Self:
        """A thread that submits operations evenly over the run, `depth` at once, and sleeps until they are done."""
        period = self.elapsed // (count // depth)
        offset = 0
        for number in range(count // depth):
            at = START + number * period
            parts = {"cpu_ns": 0, "runnable_ns": 0, "blocked_ns": 0, "sleeping_ns": length}
            self.call(at, asleep_in, parts, tid=10, ino=None, offset=0, bytes_=None)
            self.tables["syscalls"][-1] |= {"ring": 1}
            for _ in range(depth):
                offset = self.random.randrange(0, 1 << 18) * PAGE if jump else offset + 4 * KIB
                row = {
                    "bytes": 4 * KIB,
                    "offset": offset,
                    "moved_bytes": 4 * KIB if ended else None,
                    "ret": 4 * KIB if ended else None,
                }
                if kind == "sync":
                    row = {"bytes": None, "moved_bytes": None, "ret": 0 if ended else None}
                row |= {"dev": FS, "ino": FILE} | more
                self.add(
                    "async_operations",
                    submit_ns=at,
                    complete_ns=at + length if ended else None,
                    tgid=10,
                    tid=10,
                    ring=1,
                    api=api,
                    op=op,
                    kind=kind or op,
                    ran="worker",
                    flags=[],
                    results=int(ended),
                    **row,
                )
        return self.thread(user=0.02)

    def idle_call(self, name: str, share: float = 1.0, tid: int = 10) -> Self:
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
