"""What the agent counts in the kernel, of calls whose numbers are known: also syncs, as the filesystem itself tells of them."""

from collections.abc import Iterator
from pathlib import Path

from iowhy.recording import Recording, open_recording

from .check import Check, one

WRITES, READS, FSYNCS, FDATASYNCS, BLOCK = 53, 211, 37, 11, 4096
CALLED = {
    "pwrite64": (WRITES, WRITES * BLOCK),
    "pread64": (READS, READS * BLOCK),
    "fsync": (FSYNCS, 0),
    "fdatasync": (FDATASYNCS, 0),
}


def script() -> str:
    """The agent's programs count meanwhile; they do from the first line on that they print.

    It is told to end by SIGTERM: a shell has what it starts in the background ignore SIGINT (POSIX, asynchronous lists).
    """
    return f"""
iowhy-record aggregate -o /out/agent --every 1 --calls > /out/agent.json 2> /out/agent.err &
agent=$!
tries=0
while [ ! -s /out/agent.json ] && [ $tries -lt 120 ]; do sleep 1; tries=$((tries + 1)); done
record watched iowhy-work calls --file /mnt/agent --writes {WRITES} --reads {READS} --fsyncs {FSYNCS} \\
  --fdatasyncs {FDATASYNCS} --opens 1 --block {BLOCK}
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
    yield from _syncs(recording, dev)
    yield Check("lost of the agent", recording.manifest.lost(), 0)


def _syncs(recording: Recording, dev: object) -> Iterator[Check]:
    """Syncs are there as the filesystem tells of them too, where its tracepoints have types."""
    sensor = next(s for s in recording.manifest.sensors if s.name == "agent_syncs_ext4")
    if not sensor.ran:
        yield Check("why ext4 tells of no sync is said", bool(sensor.why), True)
        return
    synced = (
        "SELECT sum(count) FROM agent_latencies WHERE measure = 'sync' AND name = ? AND dev = ?"
    )
    for name, calls in (("fsync", FSYNCS), ("fdatasync", FDATASYNCS)):
        yield Check(f"{name} as ext4 tells", one(recording, synced, name, dev), calls)
    # Of one clock, and what the filesystem does is a part of the call.
    times = (
        "SELECT sum(sum_ns) FROM agent_latencies WHERE measure = ? AND name = 'fsync' AND dev = ?"
    )
    called, within = one(recording, times, "call", dev), one(recording, times, "sync", dev)
    shorter = isinstance(called, int) and isinstance(within, int) and 0 < within <= called
    yield Check("ext4's fsync is a part of the call", shorter, True)
