"""What a recording says, by topic: each computed in SQL, when first asked for, and once.

`Facts(rec).requests.median_bytes`. None means unknown: the sensor did not run, the other tool did
not print it, or there is nothing to measure it on. No rows travel to Python, only aggregates.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property

from iowhy.recordings import Recording
from iowhy.relations import Relations
from iowhy.relations.narrowed import Narrowed
from iowhy.whys import budget as budgets
from iowhy.whys import classes
from iowhy.whys.facts import (
    cache,
    calls,
    ceilings,
    compressing,
    copied_up,
    devices,
    evictors,
    failed,
    failing,
    filesystems,
    in_order,
    installed,
    io_limits,
    job,
    journal,
    kernel_log,
    kernel_work,
    layers,
    layout,
    locked,
    machine,
    measured,
    metadata,
    missing,
    operations,
    requests,
    rewritten,
    run,
    short_lived,
    sleeps,
    space,
    spilled,
    stacks,
    stalls,
    subject,
    threads,
    uneven,
    used_files,
    whole,
    woken,
    writeback,
    written_in_part,
)

#: Share of the waiting for storage from which reads, or writes, are what is looked at.
MOSTLY = 0.75
#: Of the time, what statements wait for locks of their server from which that is what it waits for, not clients.
LOCKED = 0.15


class Facts:
    """The facts of one recording; use as a context, which closes the connection."""

    def __init__(
        self,
        recording: Recording,
        *,
        narrowed: Narrowed | None = None,
    ) -> None:
        self.recording = recording
        self.manifest = recording.manifest
        self.narrowed = narrowed is not None
        self.relations = Relations(recording, narrowed=narrowed)

    def __enter__(self) -> "Facts":
        return self

    def __exit__(self, *_: object) -> None:
        self.relations.close()

    @property
    def page_bytes(self) -> int:
        """Size of a page on the machine that was recorded."""
        return self.relations.facts.page_bytes

    @cached_property
    def run(self) -> run.Run:
        """When, how long, what was lost, which sensors were missing."""
        who = subject.subject(self.manifest.command, self.relations)
        return run.measure(self.recording, self.relations.facts, who)

    @cached_property
    def shorts(self) -> tuple[whole.Short, ...]:
        """Tables that hold less than others count; none: all adds up, or that is not known."""
        return () if self.narrowed else whole.shorts(self.manifest, self.relations)

    @cached_property
    def budget(self) -> budgets.Budget:
        """Where the time went."""
        return budgets.measure(self.relations)

    @property
    def shares_of_ns(self) -> float | None:
        """The elapsed time that shares are of: without the recorder's, where the budget leaves that out; None where not known."""
        elapsed_ns = self.run.elapsed_ns
        return None if elapsed_ns is None else elapsed_ns * (1.0 - self.budget.left_out)

    @cached_property
    def machine(self) -> machine.Machine:
        """CPUs, memory, limits of the control group, pressure."""
        return machine.measure(self.relations)

    @cached_property
    def threads(self) -> threads.Threads:
        """The command's threads and processes."""
        return threads.measure(self.relations)

    @cached_property
    def compressing(self) -> compressing.Compressing | None:
        """What most of its computing compresses with; None if it does something else."""
        return compressing.compressing(self.relations)

    @cached_property
    def short_lived(self) -> short_lived.ShortLived | None:
        """The many processes that a program of the command started to do little each; None if it did not."""
        return short_lived.measure(self.relations)

    @cached_property
    def rewritten(self) -> rewritten.Rewritten | None:
        """A file that it writes as a whole again and again."""
        return rewritten.measure(self.relations)

    @cached_property
    def allowed_cpus(self) -> int | None:
        """The CPUs that its threads may run on; None if not known."""
        return threads.allowed_cpus(self.relations)

    @cached_property
    def calls(self) -> calls.Calls:
        """The system calls."""
        timed = self.run.pasted or self.relations.has("thread_time")
        by_write = timed and operations.synchronous_writes(self.budget, self.relations)
        return calls.measure(self.relations, by_write)

    @cached_property
    def sleeper(self) -> sleeps.Sleep | None:
        """The call in which the thread sleeps that sets the pace; None if not known."""
        return sleeps.sleeper(self.relations)

    @cached_property
    def waits_for_work(self) -> str | None:
        """What from outside a server or watcher idles for, in words; None: its sleep is a wait of its own work."""
        if self.run.pasted or self.budget.basis != "threads":
            return None
        if self.locked is not None and self.locked.all_ns >= LOCKED * (self.run.elapsed_ns or 0):
            return None
        found = sleeps.waits_for_work(self.relations, self.run.mode)
        call = None if self.sleeper is None else self.sleeper.call
        own = call in sleeps.TIMERS or call in sleeps.CHILDREN or call in sleeps.LOCKS
        return None if own and self.run.mode != "machine" else found

    @property
    def worked_share(self) -> float:
        """Of the time, the share in which there was work: all but what a server idles for want of any."""
        return 1.0 if self.waits_for_work is None else 1.0 - self.budget.elapsed(classes.IDLE)

    @cached_property
    def requests(self) -> requests.Requests:
        """The block requests, on the device that the command uses most."""
        return requests.measure(self.relations, _direction(self.budget), self.run.pasted)

    @cached_property
    def io_limits(self) -> tuple[io_limits.DeviceLimits, ...]:
        """Limits of the control group on reads and writes, by device."""
        return io_limits.io_limits(self.relations, self.requests)

    @cached_property
    def in_order(self) -> in_order.InOrder:
        """How quickly that device moves what is read in order."""
        return in_order.in_order(self.relations, self.requests)

    @cached_property
    def devices(self) -> devices.Devices:
        """The devices' own counters."""
        return devices.measure(
            self.relations,
            whole=self.run.pasted or self.run.mode == "machine",
            folder=self.manifest.command.cwd,
            filesystems=self.filesystems,
        )

    @cached_property
    def cache(self) -> cache.Cache:
        """The page cache."""
        return cache.measure(self.relations, self.run.pasted, self.machine.group_refault_pages)

    @cached_property
    def missing(self) -> missing.Missing | None:
        """What reading again takes of a CPU; None: not known."""
        return missing.missing(self.relations)

    @cached_property
    def stalled(self) -> stalls.Stalls:
        """How its device stalls, and what of the waiting for storage that is."""
        pieces = [piece for piece in self.budget.pieces if piece.cls in classes.STORAGE]
        reasons = frozenset(piece.reason for piece in pieces if piece.reason)
        asleep_ns = self.budget.asleep(*classes.STORAGE) * (self.run.elapsed_ns or 0)
        return stalls.stalled(self.relations, self.requests, reasons, asleep_ns)

    @cached_property
    def ceiling(self) -> ceilings.Ceiling | None:
        """At what rate its device is held; None: at none that is not its own."""
        top = self.devices.top
        own = self.requests.known and self.requests.count > 0
        dev = self.requests.dev if own else None if top is None else top.dev
        jumps = self.requests.jump_share
        found = ceilings.ceiling(self.relations, dev, jumps=jumps)
        if found is not None or not self.narrowed or not ceilings.stands(self.relations, dev):
            return found
        # What shows it may be before or after the part that is looked at.
        with Relations(self.recording) as whole:
            known = ceilings.ceiling(whole, dev, jumps=jumps)
            same = None if known is None else ceilings.within(self.relations, known)
            return same or ceilings.ceiling(self.relations, dev, jumps=jumps, evidence=whole)

    @cached_property
    def uneven(self) -> uneven.Uneven | None:
        """That a device answers far later than at other times, or than its twin; None: it does not, or that is not known."""
        return uneven.uneven(self.relations, self.requests, self.layers)

    @cached_property
    def logged(self) -> tuple[kernel_log.Logged, ...]:
        """What the kernel logged of disks while they were recorded."""
        return kernel_log.logged(self.relations)

    @cached_property
    def failing(self) -> failing.Failing | None:
        """The device that fails requests; None: none does, or that is not known."""
        whole = self.run.mode == "machine"
        return failing.failing(self.relations, self.requests.dev, whole=whole)

    @cached_property
    def wake_ups(self) -> tuple[woken.Woken, ...]:
        """What calls waited for a CPU after other waits."""
        return woken.wake_ups(self.relations)

    @cached_property
    def inputs_gone(self) -> bool:
        """Whether what the command read was gone at its end: a second run would not find it."""
        reading = self.budget.line(classes.READ).thread_ns if self.budget.known else None
        return used_files.inputs_gone(self.relations, reading or 0)

    @cached_property
    def somebody_elses(self) -> bool:
        """Whether what was typed is one program that came with the system."""
        return installed.somebody_elses(self.manifest.command, self.relations)

    @cached_property
    def syncs_decided_there(self) -> bool:
        """Whether the syncs are decided on in programs that came with the system."""
        return installed.syncs_decided_there(self.relations)

    @cached_property
    def reads_decided_there(self) -> bool:
        """Whether what is read is decided on in programs that came with the system."""
        return installed.reads_decided_there(self.relations)

    @cached_property
    def evictors(self) -> tuple[evictors.Evictor, ...]:
        """Who took pages of its files out of the cache, the largest part first; empty: nobody, or not known."""
        return evictors.evictors(self.relations, self.machine)

    @cached_property
    def layout(self) -> layout.Layout:
        """Where the files are on the device."""
        return layout.measure(self.relations)

    @cached_property
    def journal(self) -> journal.Journal:
        """The file systems' journals."""
        return journal.measure(self.relations)

    @cached_property
    def writeback(self) -> writeback.Writeback:
        """Writeback passes and pauses of writers."""
        return writeback.measure(self.relations)

    @cached_property
    def written_filesystem(self) -> filesystems.Filesystem | None:
        """The filesystem in whose writes most time passes; None if not known."""
        if not self.filesystems:
            return None
        return filesystems.of(self.filesystems, filesystems.written_most(self.relations))

    @cached_property
    def filesystems(self) -> filesystems.Filesystems:
        """The filesystems of the command's files."""
        return filesystems.filesystems(self.relations)

    @cached_property
    def kernel_work(self) -> dict[str, float]:
        """Of its CPU time in the kernel, what filesystems compute there, by what that is."""
        return kernel_work.of_threads(self.relations)

    @cached_property
    def layers(self) -> layers.Layers | None:
        """What is below the device that the command uses most; None: nothing, or not known."""
        return layers.below(self.relations, self.requests.dev)

    @cached_property
    def metadata(self) -> metadata.Metadata:
        """What was read of the filesystems' own blocks, and the calls on names."""
        return metadata.metadata(self.relations, self.requests)

    @cached_property
    def space(self) -> space.Space:
        """What filesystems did for want of free space."""
        return space.space(self.relations, self.filesystems)

    @cached_property
    def spilled(self) -> spilled.Spilled | None:
        """Temporary files that were written and read back; None: none of any size."""
        return spilled.spilled(self.relations, spilled.BYTES_MIN)

    @cached_property
    def locked(self) -> locked.Locked | None:
        """The statement of a database that waits longest for a lock of its server; None: none does, or not known."""
        return locked.locked(self.relations)

    @cached_property
    def copied_up(self) -> copied_up.CopiedUp | None:
        """What overlays copied up from their lower layers; None: no wait was for that."""
        return copied_up.copied_up(self.relations, self.filesystems, self.page_bytes)

    @cached_property
    def partial_writes(self) -> written_in_part.PartialWrites | None:
        """Writes that wait for the rest of the blocks of which they write a part; None: no call does."""
        return written_in_part.partial_writes(self.relations)

    @cached_property
    def failed(self) -> tuple[failed.Failed, ...]:
        """Calls that storage refused or could not do, the last one first."""
        command = self.manifest.command
        ended_badly = bool(command.exit_status) or command.signal is not None
        return failed.failed(self.relations, ended_badly=ended_badly)

    @cached_property
    def durable_writes(self) -> bool | None:
        """Whether what writes wait for is that they are durable (O_SYNC and the like); None: not known."""
        return stacks.durable_writes(self.relations, self.filesystems)

    @cached_property
    def measured(self) -> measured.Measured:
        """Summary numbers and histograms that other tools printed."""
        return measured.measure(self.relations)

    @cached_property
    def job(self) -> job.Job | None:
        """A job of many processes; None if no log of one is looked at."""
        return job.measure(self.measured)


@contextmanager
def facts_of(
    recording: Recording,
    *,
    narrowed: Narrowed | None = None,
) -> Iterator[Facts]:
    """The facts of a recording, open. DuckDB's errors become Problems that say how to look for damage.

    `narrowed` is the part that is looked at.
    """
    with (
        recording.damage_named(),
        Facts(recording, narrowed=narrowed) as facts,
    ):
        yield facts


def _direction(budget: budgets.Budget) -> str | None:
    """The requests that the command waits for: reads or writes, when one of them is most of it.

    What it does without waiting (laying out a file before the work) has another shape and depth.
    """
    reading = budget.elapsed(classes.READ)
    writing = budget.elapsed(classes.WRITE, classes.SYNC, classes.THROTTLED)
    if reading > MOSTLY * (reading + writing):
        return "read"
    if writing > MOSTLY * (reading + writing):
        return "write"
    return None
