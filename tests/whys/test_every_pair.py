"""Each two causes that can want the same time: one of them leads, or a line says why the question does not arise."""

from graphlib import TopologicalSorter
from itertools import combinations

import pytest

from iowhy.sentences import worded
from iowhy.whys.budget import Piece
from iowhy.whys.causes import causes
from iowhy.whys.finding import Candidate, Claim, Saving
from iowhy.whys.settle import settle

from .conftest import BY_NAME

#: What each takes time of, in recordings (of jobs' logs and pasted texts alone, see the end).
TIME = {cause.name: cause.explains for cause in causes() if cause.explains}
#: Found in logs of jobs alone, or (healthy) without any time; those among them that meet are ordered, too.
OTHERS = {
    "healthy", "io-not-overlapped", "metadata-storm", "mpi-io-exchange", "ranks-uneven", "stripes-few",
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
    ("read-again", "cache-cold cache-thrash filesystem-cpu", "copies out of memory, and what it takes to have pages there"),
    ("read-again", "fuse-daemon overlay-copy-up", "reads, and page faults, opens or writes"),
    ("sync-storm", "cache-cold read-again", "syncs, and reads"),
    ("device-contended", "syncs-behind-writes", "others' part of the device, and its own"),
    ("remote-storage", "syncs-behind-writes", "a remote file has no requests here"),
    ("spills", "syncs-behind-writes", "calls on temporary files, and syncs of others"),
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
        if TIME[one] & TIME[other]
        and not (other in beats[one] or one in beats[other])
        and {one, other} not in spared
    ]
    assert left == []


ORDERED = [
    (first, second, cls)
    for first in TIME
    for second in TIME
    if second in BY_NAME[first].beats
    for cls in sorted(TIME[first] & TIME[second])
]


def claiming(cls: str, part: float) -> Candidate:
    claim = Claim(frozenset({cls}), fraction=part)
    return Candidate((claim,), (), worded("made", "made"), Saving(1.0, "made"))


def test_the_one_that_leads_takes_what_both_want_however_little_it_wants() -> None:
    """Of time of one class, the one explains a third and the other all: that gets what is left, whichever is looked for first."""
    wrong = []
    for first, second, cls in ORDERED:
        pieces = (Piece(cls, None, None, None, 100, 90, elapsed=0.9),)
        found = [
            (BY_NAME[first], claiming(cls, 1 / 3)),
            (BY_NAME[second], claiming(cls, 1.0)),
        ]
        (one, rest), _, left = settle(pieces, found)
        (turned_rest, turned_one), *_ = settle(pieces, found[::-1])
        if [one, rest, turned_one, turned_rest, *left] != pytest.approx([0.3, 0.6, 0.3, 0.6, 0]):
            wrong.append((first, second, cls))
    assert len(ORDERED) > 200 and not wrong


def test_nothing_that_is_beaten_beats_in_turn() -> None:
    TopologicalSorter({cause.name: cause.beats for cause in causes()}).prepare()
