"""What the agent counts in the kernel, of calls whose numbers are known: also syncs, as the filesystem itself tells of them."""

from collections.abc import Iterator
from pathlib import Path

from iowhy.recordings import Recording, open_recording

from .check import Check, one
from .filesystems import AGENTS_DISKS, KINDS

WRITES, READS, FSYNCS, FDATASYNCS, BLOCK = 53, 211, 37, 11, 4096
CALLED = {
    "pwrite64": (WRITES, WRITES * BLOCK),
    "pread64": (READS, READS * BLOCK),
    "fsync": (FSYNCS, 0),
    "fdatasync": (FDATASYNCS, 0),
}
#: By filesystem and service, how many fsync and fdatasync are called there: no two numbers are the same.
SYNCED = {
    ("xfs", "orders"): (13, 5),
    ("xfs", "mail"): (29, 17),
    ("btrfs", "orders"): (7, 19),
    ("btrfs", "mail"): (23, 3),
}
_GROUPS = "/agents-groups"


def script() -> str:
    """The agent's programs count meanwhile; they do from the first line on that they print. Filesystems and groups are there before it.

    It is told to end by SIGTERM: a shell has what it starts in the background ignore SIGINT (POSIX, asynchronous lists).
    """
    services = sorted({service for _, service in SYNCED})
    return "\n".join(
        (
            f"mkdir -p {_GROUPS} && mount -t cgroup2 groups {_GROUPS} && mkdir {_GROUPS}/system.slice",
            *(f"mkdir {_group_of(service)}" for service in services),
            *(_mounted(kind) for kind in KINDS),
            _counted("\n".join(_synced(*of, *calls) for of, calls in SYNCED.items())),
            *(f"umount /mnt-{kind}" for kind in KINDS),
            *(f"rmdir {_group_of(service)}" for service in services),
            f"rmdir {_GROUPS}/system.slice; umount {_GROUPS}",
        )
    )


def _group_of(service: str) -> str:
    return f"{_GROUPS}/system.slice/{service}.service"


def _mounted(kind: str) -> str:
    make, disk = KINDS[kind][0], AGENTS_DISKS[kind]
    return (
        f"{make} {disk} > /out/mkfs-agents-{kind}.txt 2>&1\n"
        f"mkdir /mnt-{kind} && mount -t {kind} -o noatime {disk} /mnt-{kind}"
    )


def _synced(kind: str, service: str, fsyncs: int, fdatasyncs: int) -> str:
    """A service that makes a file of its own durable. Each sync has a write to make durable."""
    return (
        f"sh -c 'echo $$ > {_group_of(service)}/cgroup.procs && exec iowhy-work calls --file /mnt-{kind}/{service}"
        f" --writes {fsyncs + fdatasyncs} --reads 1 --fsyncs {fsyncs} --fdatasyncs {fdatasyncs} --opens 1"
        f" --block {BLOCK}' > /out/{kind}-{service}.txt 2>&1"
    )


def _counted(services: str) -> str:
    return f"""
iowhy-record aggregate -o /out/agent --every 1 --calls > /out/agent.json 2> /out/agent.err &
agent=$!
tries=0
while [ ! -s /out/agent.json ] && [ $tries -lt 120 ]; do sleep 1; tries=$((tries + 1)); done
record watched iowhy-work calls --file /mnt/agent --writes {WRITES} --reads {READS} --fsyncs {FSYNCS} \\
  --fdatasyncs {FDATASYNCS} --opens 1 --block {BLOCK}
{services}
sync
kill -TERM $agent
wait $agent
"""


def kept(out: Path) -> Recording:
    """What the agent kept."""
    return open_recording(next((out / "agent").glob("*.iowhy")))


def checks(out: Path) -> Iterator[Check]:
    """Counts, bytes and times are those of the calls; syncs are there as the filesystem tells of them too."""
    watched = open_recording(out / "watched.iowhy")
    dev = one(watched, "SELECT dev FROM files WHERE path = '/mnt/agent'")
    recording = kept(out)
    for sensor in ("agent_waits", "agent_requests", "agent_cache", "agent_pauses", "agent_calls"):
        yield Check(f"{sensor} ran", recording.ran(sensor), True)
    counted = "SELECT sum(count), sum(bytes) FROM agent_latencies WHERE measure = 'call' AND name = ? AND dev = ?"
    for name, expected in CALLED.items():
        yield Check(f"{name} of the agent", one(recording, counted, name, dev), expected)
    requests = "SELECT sum(count) > 0, sum(bytes) >= ? FROM agent_latencies WHERE measure = 'request' AND name = 'write'"
    yield Check("writes of the agent", one(recording, requests, WRITES * BLOCK), (True, True))
    waited = "SELECT sum(count) > 0 FROM agent_latencies WHERE measure = 'io_wait' AND name LIKE '%sync' AND dev = ?"
    yield Check("syncs wait, as the agent sees", one(recording, waited, dev), True)
    yield from _syncs_of_ext4(recording, dev)
    for kind in KINDS:
        yield from _syncs_of_services(recording, kind)
    yield Check("lost of the agent", recording.manifest.lost(), 0)


def _tells(recording: Recording, kind: str) -> bool | Check:
    """Whether the agent sees the filesystem's syncs; where it does not, the check that it says why."""
    sensor = next(s for s in recording.manifest.sensors if s.name == f"agent_syncs_{kind}")
    return sensor.ran or Check(f"why {kind} tells of no sync is said", bool(sensor.why), True)


def _syncs_of_ext4(recording: Recording, dev: object) -> Iterator[Check]:
    """Syncs are there as the filesystem tells of them too, where its tracepoints have types."""
    tells = _tells(recording, "ext4")
    if isinstance(tells, Check):
        yield tells
        return
    synced = (
        "SELECT sum(count) FROM agent_latencies WHERE measure = 'sync' AND name = ? AND dev = ?"
    )
    for name, calls in (("fsync", FSYNCS), ("fdatasync", FDATASYNCS)):
        yield Check(f"{name} as ext4 tells", one(recording, synced, name, dev), calls)
    yield _part_of_call(recording, "ext4", dev)


def _syncs_of_services(recording: Recording, kind: str) -> Iterator[Check]:
    """XFS's and btrfs' are those that each service asked for, and nobody else's."""
    tells = _tells(recording, kind)
    if isinstance(tells, Check):
        yield tells
        return
    dev = one(recording, "SELECT dev FROM filesystems WHERE mount = ?", f"/mnt-{kind}")
    synced = (
        "SELECT sum(count) FROM agent_latencies WHERE measure = 'sync' AND name = ? AND dev = ?"
        " AND container IN (SELECT id FROM containers WHERE name = ?)"
    )
    of_all = "SELECT sum(count) FROM agent_latencies WHERE measure = 'sync' AND dev = ?"
    here = {service: calls for (of, service), calls in SYNCED.items() if of == kind}
    for service, calls in here.items():
        for name, expected in zip(("fsync", "fdatasync"), calls, strict=True):
            found = one(recording, synced, name, dev, f"{service}.service")
            yield Check(f"{name} of {service} as {kind} tells", found, expected)
    yield Check(
        f"syncs of all on {kind}", one(recording, of_all, dev), sum(map(sum, here.values()))
    )
    yield _part_of_call(recording, kind, dev)


def _part_of_call(recording: Recording, kind: str, dev: object) -> Check:
    """Of one clock, and what the filesystem does is a part of the call."""
    times = (
        "SELECT sum(sum_ns) FROM agent_latencies WHERE measure = ? AND name = 'fsync' AND dev = ?"
    )
    called, within = one(recording, times, "call", dev), one(recording, times, "sync", dev)
    shorter = isinstance(called, int) and isinstance(within, int) and 0 < within <= called
    return Check(f"{kind}'s fsync is a part of the call", shorter, True)
