"""A filesystem, or a device below it, computes for the program: compression, encryption, checksums, parity."""

from msgspec import Struct

from iowhy.invocation import quoted
from iowhy.sentences import worded
from iowhy.whys import classes, evidence, next_command, saving, thresholds
from iowhy.whys.cause import Cause, Threshold
from iowhy.whys.chain import chain_of, link, percent
from iowhy.whys.facts import Facts
from iowhy.whys.facts import kernel_work as work
from iowhy.whys.finding import Candidate, Claim, Link
from iowhy.whys.remedy import Remedy

SHARE = 0.1
WORKERS = 0.5
BUSY = 0.5


class _Workers(Struct, frozen=True):
    """What the kernel's threads compute while it waits: `part` of the waiting."""

    cores: float
    waiting: float
    busy: float
    part: float
    layer: work.Layer


def find(facts: Facts) -> Candidate | None:
    """CPU time in such functions, and waits for the kernel's threads that run them."""
    if facts.run.pasted or facts.budget.basis != "threads":
        return None
    kinds = facts.kernel_work
    kind = max(kinds, key=lambda one: kinds[one], default=None)
    own = min(1.0, sum(kinds.values())) * facts.budget.elapsed(classes.KERNEL)
    workers = _workers(facts)
    waiting = 0.0 if workers is None else workers.part * workers.waiting
    if own + waiting < SHARE:
        return None
    if kind is not None and own >= waiting:
        does = kind
        layer = work.layer(
            facts.relations,
            facts.filesystems,
            facts.requests.dev,
            reads=does == "decompressing",
            in_calls=True,
        )
        if layer is not None and layer.does != does:
            layer = None
    elif workers is not None:
        does, layer = workers.layer.does, workers.layer
    else:
        return None
    return Candidate(
        claims=_claims(facts, min(1.0, sum(kinds.values())), workers),
        chain=_chain(facts, does, own, workers),
        summary=worded(
            "filesystem-cpu.does",
            "{does} in the kernel"
            + (
                ""
                if layer is None
                else ", for {name} ({kind})"
                if layer.how is None
                else ", for {name} ({kind}, {how})"
            ),
            does=does,
            **({} if layer is None else {"name": layer.name, "kind": layer.kind, "how": layer.how}),
        ),
        saving=saving.all_of_it(f"if {does} took no time"),
        remedies=_remedies(does, layer),
        confidence=0.9 if own >= waiting else 0.75,
        lowered_by=()
        if own >= waiting
        else ("what the kernel's threads compute is estimated from the machine's CPU time",),
        needs=("thread_time", "user_stacks") if own >= waiting else ("thread_time", "cpu_samples"),
    )


def _workers(facts: Facts) -> _Workers | None:
    """The kernel's threads, where something computes on the way of what is waited for, and the device does not explain the waiting."""
    waiting = facts.budget.elapsed(*classes.STORAGE)
    if waiting < SHARE or facts.run.mode == "machine":
        return None
    busy = evidence.busy_while_waiting(facts) or 0.0
    reads = 2 * facts.budget.elapsed(classes.READ) >= waiting
    layer = work.layer(facts.relations, facts.filesystems, facts.requests.dev, reads=reads)
    machine = facts.machine
    cores = work.cores_of_workers(facts.relations, machine.cpus, machine.system, machine.user)
    if layer is None or cores is None or busy >= BUSY or cores < WORKERS * waiting:
        return None
    return _Workers(cores, waiting, busy, 1 - busy, layer)


def _claims(facts: Facts, own: float, workers: _Workers | None) -> tuple[Claim, ...]:
    claims = []
    if own * facts.budget.elapsed(classes.KERNEL) >= thresholds.LISTED:
        claims.append(Claim(frozenset({classes.KERNEL}), fraction=own))
    if workers is not None:
        claims.append(Claim(classes.STORAGE, fraction=workers.part))
        # Who keeps the CPUs busy is not another program.
        claims.append(Claim(frozenset({classes.RUNNABLE}), follows=True))
    return tuple(claims)


def _chain(facts: Facts, does: str, own: float, workers: _Workers | None) -> tuple[Link, ...]:
    """The time in such functions, and what the kernel's threads do while it waits."""
    name = facts.requests.device or "its device"
    return chain_of(
        None
        if own < thresholds.LISTED
        else link(
            f"{percent(own)} of the time is CPU time in the kernel's functions for {does} (sampled)",
            own,
            "share",
            "callers",
            "filesystem-cpu.own",
        ),
        *(
            ()
            if workers is None
            else (
                link(
                    f"{percent(workers.waiting)} of the time is spent waiting for storage",
                    workers.waiting,
                    "share",
                    "budget",
                    "filesystem-cpu.waiting",
                ),
                link(
                    f"the kernel's own threads use about {workers.cores:.2f} CPUs",
                    workers.cores,
                    "CPUs",
                    "system",
                    "filesystem-cpu.cores",
                ),
                link(
                    f"{name} is busy for {percent(workers.busy)} of that time",
                    workers.busy,
                    "share",
                    "devices" if facts.requests.known and facts.requests.count else "budget",
                    "filesystem-cpu.busy",
                ),
            )
        ),
    )


_BTRFS = "https://btrfs.readthedocs.io/en/latest/Compression.html"
_LARGER = "files take more space, and the device moves more bytes"
_UNPACK = Remedy(
    worded(
        "filesystem-cpu.copy-uncompressed",
        "Copy what it reads to a filesystem that is not compressed",
    ),
    risk="the copy takes more space",
)
_LOOK = Remedy(
    worded("filesystem-cpu.see-functions", "See which functions take the time: `perf top`"),
    looks=True,
)
_BY_KIND = {
    "squashfs": (
        Remedy(
            worded(
                "filesystem-cpu.squashfs-lz4",
                "Build the image with an algorithm that is quicker to read (`mksquashfs … -comp lz4`)",
            ),
            risk="the image is larger",
        ),
        _UNPACK,
        Remedy(
            worded(
                "filesystem-cpu.more-readers",
                "Let several readers decompress at once: mount it with `-o threads=multi`",
            ),
            risk="its buffers take more memory",
        ),
    ),
    "erofs": (
        Remedy(
            worded(
                "filesystem-cpu.erofs-lz4",
                "Build the image with an algorithm that is quicker to read (`mkfs.erofs -zlz4`)",
            ),
            risk="the image is larger",
        ),
        _UNPACK,
    ),
    "cramfs": (_UNPACK,),
}
_BY_WORK = {
    "decompressing": (_UNPACK,),
    "compressing": (
        Remedy(
            worded("filesystem-cpu.no-compression", "Turn compression off for these files"),
            risk=_LARGER,
        ),
    ),
    "encrypting": (
        Remedy(
            worded(
                "filesystem-cpu.quickest-cipher",
                "See which algorithm is quickest on this CPU: `cryptsetup benchmark`",
            ),
            looks=True,
        ),
        Remedy(
            worded(
                "filesystem-cpu.unencrypted",
                "Keep what need not be secret where nothing is encrypted",
            ),
            risk="whoever has the disk can read it",
        ),
    ),
    "checking checksums": (
        Remedy(
            worded(
                "filesystem-cpu.quicker-checksum",
                "Move the data to a filesystem with a quicker checksum (`mkfs.btrfs --csum xxhash`)",
            ),
            risk="downtime while data moves",
        ),
    ),
    "computing parity": (
        Remedy(
            worded("filesystem-cpu.mirror", "Mirror instead of parity (RAID 10)"),
            risk="RAID 10 holds less",
        ),
    ),
}


def _remedies(does: str, layer: work.Layer | None) -> tuple[Remedy, ...]:
    """What the filesystem can be set to, or the layer below it."""
    if layer is None:
        return (*_BY_WORK[does], _LOOK)
    if layer.kind == "btrfs":
        return _of_btrfs(does, layer)
    if layer.kind == "dm-crypt":
        options = "--perf-no_read_workqueue --perf-no_write_workqueue"
        queues = Remedy(
            worded(
                "filesystem-cpu.no-queue",
                "Encrypt without a queue in between: `cryptsetup refresh {options} {name}`",
                options=options,
                name=quoted(layer.name),
            ),
            risk="a disk that turns gets slower",
        )
        return (queues, *_BY_WORK["encrypting"])
    if layer.kind == "md":
        more = Remedy(
            worded(
                "filesystem-cpu.more-threads",
                "Let more threads compute: `echo 4 > /sys/block/{name}/md/group_thread_cnt`",
                name=layer.name,
            ),
            risk="other programs get less CPU time",
        )
        return (more, *_BY_WORK["computing parity"])
    return _BY_KIND[layer.kind]


def _of_btrfs(does: str, layer: work.Layer) -> tuple[Remedy, ...]:
    """A lower level, then none."""
    where = quoted(layer.name)
    option = f"compress{'-force' if layer.forced else ''}"
    none = Remedy(
        worded(
            "filesystem-cpu.compress-no-more",
            "Do not compress what is written from now on: `mount -o remount,compress=no {where}`",
            where=where,
        ),
        risk=_LARGER,
        link=_BTRFS,
    )
    if does == "decompressing":
        anew = Remedy(
            worded(
                "filesystem-cpu.rewrite-uncompressed",
                "Write these files again without compression: `btrfs property set {where} compression none && btrfs filesystem defragment -r {where}`",
                where=where,
            ),
            risk=_LARGER,
            link=_BTRFS,
        )
        return (anew, _UNPACK)
    if layer.how in (None, "lzo", "zstd:1"):
        return (none,)
    return (
        Remedy(
            worded(
                "filesystem-cpu.compress-faster",
                "Compress faster: `mount -o remount,{option}=zstd:1 {where}`",
                option=option,
                where=where,
            ),
            risk=_LARGER,
            link=_BTRFS,
        ),
        none,
    )


CAUSE = Cause(
    name="filesystem-cpu",
    title="CPU time that a filesystem takes",
    meaning=(
        "A filesystem or a device below it computes for the program: it compresses, encrypts, checks checksums or keeps parity. "
        "That is CPU time in the program's calls, or of the kernel's own threads, for which the program waits as if for a device. "
        "A faster device does not help, and a profile of the program does not show it."
    ),
    measured=(
        "Stacks of the kernel, sampled while the program's threads run there, that have functions for such work; and, where the "
        "filesystem or a device below it is known to compute, the CPU time of the kernel's own threads while the program waits and the "
        "device is idle."
    ),
    thresholds=(
        Threshold(
            "such CPU time and waiting, at least", SHARE, "share",
            "less is what any filesystem spends on checksums",
        ),
        Threshold(
            "CPUs of the kernel's threads, of the time that it waits, at least", WORKERS, "share",
            "with less, something else keeps it waiting too",
        ),
        Threshold(
            "device busy while it waits, below", BUSY, "share",
            "else it may be the device that is waited for",
        ),
    ),
    fooled_by=(
        "another program's compressed files on the same machine: the kernel's threads do not say for whom they work",
        "stacks that were not sampled (Linux before 6.1): CPU time in the kernel has no functions then",
    ),
    remedies=(_UNPACK, _LOOK),
    find=find,
    explains=classes.named("read write sync kernel runnable"),
    unseen_without=("thread_time",),
    settled_by=next_command.CPU,
    beats=(
        "cache-cold", "cache-thrash", "cpu-saturated", "cpu-serial", "device-contended",
        "device-saturated", "device-slow", "flush-cost", "io-throttled", "lock-contended",
        "metadata-cold", "queue-shallow", "random-access", "readahead-poor", "small-requests",
        "sync-storm", "journal-entangled", "writeback-scattered", "file-fragmented",
        "partial-writes", "syncs-behind-writes",
    ),
)  # fmt: skip
