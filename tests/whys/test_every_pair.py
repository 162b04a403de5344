"""Each two causes that can want the same time: one of them leads, or a line says why the question does not arise."""

from graphlib import TopologicalSorter
from itertools import combinations

from iowhy.whys.causes import causes

#: What each takes time of, in recordings (of jobs' logs and pasted texts alone, see the end).
TIME = {
    "cache-cold": "read",
    "cache-thrash": "read kernel",
    "cpu-delayed": "ready",
    "cpu-saturated": "user kernel ready",
    "cpu-serial": "user kernel ready",
    "cpu-throttled": "user kernel ready",
    "data-journaled": "write sync throttled",
    "device-capped": "read write sync",
    "device-contended": "read write sync",
    "device-failing": "read write sync",
    "device-saturated": "read write sync",
    "device-slow": "read write sync",
    "dirty-throttled": "throttled",
    "file-fragmented": "read write sync throttled",
    "filesystem-cpu": "read write sync kernel ready",
    "filesystem-frozen": "lock",
    "filesystem-full": "write sync",
    "flush-cost": "sync",
    "fuse-daemon": "read write sync user kernel ready",
    "io-throttled": "read write sync throttled",
    "journal-entangled": "sync",
    "lock-contended": "lock",
    "memory-pressure": "memory kernel",
    "metadata-cold": "read lock",
    "not-io": "idle",
    "overlay-copy-up": "read write sync kernel",
    "partial-writes": "read",
    "queue-shallow": "read write",
    "random-access": "read write",
    "readahead-poor": "read",
    "remote-storage": "read write sync",
    "small-requests": "read write kernel user ready",
    "spills": "read write sync throttled lock memory kernel",
    "sync-storm": "sync kernel",
    "writeback-scattered": "write throttled sync",
}
#: Found in logs of jobs alone, or (healthy) without any time; those among them that meet are ordered, too.
OTHERS = {
    "healthy", "io-not-overlapped", "metadata-storm", "mpi-io-exchange", "ranks-uneven", "read-again", "stripes-few",
}  # fmt: skip

#: One of the first with one of the second: why neither has to lead.
NO_QUESTION = [
    ("device-failing", "*", "it comes first whatever it explains: its data is in danger"),
    ("memory-pressure", "*", "the kernel frees memory outside of calls and waits for I/O: other time"),
    ("cpu-throttled", "*", "it takes what was held back; what computes less is held back less: each its part"),
    ("cpu-delayed", "filesystem-cpu fuse-daemon small-requests", "who computes less waits less: each its part"),
    ("filesystem-full", "cache-cold cache-thrash", "writes that wait for room, and reads"),
    ("sync-storm", "cache-thrash", "syncs, and reads"),
    ("sync-storm", "data-journaled", "few bytes to a sync, and many bytes, twice"),
    ("sync-storm", "cpu-saturated", "waits for the disk, and for a CPU; what follows a wait goes with it"),
    ("small-requests", "cache-cold", "past the cache nothing is cold; through it readahead makes small reads large"),
    ("data-journaled", "filesystem-cpu", "ext4 has such a journal, and computes nothing"),
    ("device-contended", "data-journaled device-capped", "others' part of the device, and its own"),
    ("device-capped", "filesystem-cpu", "of the waiting the device is busy, or idle while the kernel computes"),
    ("writeback-scattered", "device-capped device-slow", "what is late or held back is a part, settled first"),
    ("metadata-cold", "file-fragmented partial-writes", "calls on names, and on data"),
    ("metadata-cold", "filesystem-frozen lock-contended", "a block that is read, and another lock"),
    ("filesystem-frozen", "spills", "who thaws it ends that wait, and no other"),
    ("fuse-daemon", "remote-storage", "a file is on one of them"),
]  # fmt: skip


def test_no_pair_is_left_out() -> None:
    assert {*TIME} | OTHERS == {cause.name for cause in causes()}
    beats = {cause.name: set(cause.beats) for cause in causes()}
    spared = {
        frozenset((one, other))
        for one, others, _ in NO_QUESTION
        for other in (TIME if others == "*" else others.split())
    }
    left = [
        (one, other)
        for one, other in combinations(TIME, 2)
        if {*TIME[one].split()} & {*TIME[other].split()}
        and not (other in beats[one] or one in beats[other])
        and {one, other} not in spared
    ]
    assert left == []


def test_nothing_that_is_beaten_beats_in_turn() -> None:
    TopologicalSorter({cause.name: cause.beats for cause in causes()}).prepare()
