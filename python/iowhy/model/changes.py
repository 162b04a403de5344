"""What could be other than it was: each change is a rule for the model, with what it takes for granted."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from iowhy.model.device_kind import Device
from iowhy.model.medium import AsRecorded, medium_of
from iowhy.model.recorded import Recorded
from iowhy.model.replay import Rule, ways
from iowhy.relations import Relations
from iowhy.relations.memory_sizes import Memory
from iowhy.sentences import Sentence, worded

#: Requests in flight alone, below which their time is chance.
_ALONE_MIN = 16
#: From this share of the requests' bytes on they are said to be read again.
READ_AGAIN = 0.05
_GROUPED = 10
#: What the model of memory says was read again is so within this share, else it carries nothing; and its shares of hits are within so much.
_REPEATED, _POINTS = 0.2, 0.05
#: Less than this of what fits does surely not fit.
_SURELY = 0.9
#: Bytes of a block, of devices of up to 2^40 of them.
_BLOCK, _BLOCK_BITS = 4096, 40

_TWICE = worded("what-if-memory-twice", "twice the memory")


class Change(Struct, frozen=True):
    """`factors` are those of CPU time, of waiting for a CPU, and of all waits (elapsed.elapsed); `more_cpus`: how many times as many.

    `because` says why, if not what becomes of the waits. `unsure` is by how much of what is waited for then the answer may be too low or too high.
    """

    id: str
    name: Sentence
    assumes: Sentence
    rule: Callable[[], Rule]
    cpu: float = 1.0
    runnable: float = 1.0
    more_cpus: float = 1.0
    because: Sentence | None = None
    unsure: tuple[float, float] = (0.1, 0.1)


def changes(run: Recorded, relations: Relations, devices: Sequence[Device]) -> tuple[Change, ...]:
    """Those that the recording can carry."""
    found = [*_devices(run, devices), *_syncs(run, relations), *_memory(run, relations)]
    found += [*_others(run), *_processors(run), *_limits(run)]
    return tuple(found)


def main_device(run: Recorded) -> int | None:
    """The device whose requests of the run take longest in all."""
    q = run.requests
    own = q["own"].astype(bool) if len(q["own"]) else np.array([], bool)
    took = (q["done_ns"] - q["begin_ns"])[own] if len(own) else []
    if not len(took):
        return None
    numbers, at = np.unique(q["dev"][own], return_inverse=True)
    return int(numbers[np.argmax(np.bincount(at, weights=took))])


def _devices(run: Recorded, devices: Sequence[Device]) -> list[Change]:
    dev = main_device(run)
    if dev is None or _answers_at_once(run, dev):
        return []
    return [_device(run, dev, one) for one in devices]


def _answers_at_once(run: Recorded, dev: int) -> bool:
    """Whether no thread has waited while it had a request there: one in memory has answered before (zram, brd, pmem).

    Who would wait for a device that does not is then not to be seen.
    """
    q, w = run.requests, run.waits
    mine = (q["dev"] == dev) & q["own"].astype(bool) & np.isin(q["tid"], list(run.threads))
    if mine.sum() < _ALONE_MIN:
        return False
    for tid in np.unique(q["tid"][mine]):
        at, waits = mine & (q["tid"] == tid), w["tid"] == tid
        begins = np.sort(w["begin_ns"][waits])
        ends = np.sort((w["begin_ns"] + w["dur_ns"])[waits])
        # As many waits have begun before a request was done as had ended before it was made, where there is none between.
        begun = np.searchsorted(begins, q["done_ns"][at], side="left")
        if (begun > np.searchsorted(ends, q["begin_ns"][at], side="right")).any():
            return False
    return True


def _device(run: Recorded, dev: int, one: Device) -> Change:
    said = "nobody else uses it, and its queue takes what comes; its numbers: {source}"
    return Change(
        f"device:{(one.aliases or (one.name,))[0]}",
        worded("what-if-device", "{device}", device=one.name),
        worded("assumes-device", said, source=one.source or "as given"),
        lambda: Rule(
            media={dev: medium_of(one, ways(run, dev, one.cache_mib * 1048576))},
            fixed=_throttled(run, dev, one),
        ),
        unsure=(0.35, 0.6),
    )


def _throttled(run: Recorded, dev: int, device: Device) -> dict[str, float]:
    """Pauses by the dirty limits are as long as the device takes to write."""
    q = run.requests
    writes = (q["dev"] == dev) & (q["kind"] == 1)
    if not writes.any():
        return {}
    busy = _union_ns(q["begin_ns"][writes], q["done_ns"][writes])
    now = sum(device.moved_ns(one, read=False) for one in q["bytes"][writes].tolist())
    return {"throttled": float(now / busy)} if busy else {}


def _union_ns(begin: Any, end: Any) -> float:
    """In which at least one is in flight."""
    order = np.argsort(begin)
    begin, end = begin[order], np.maximum.accumulate(end[order])
    before = np.concatenate([[begin[0]], end[:-1]])
    return float(np.maximum(0, end - np.maximum(begin, before)).sum())


_SYNCS = """
SELECT ts_ns - {start} AS begin_ns, coalesce(cpu_ns, 0) AS cpu_ns
FROM sync_calls
WHERE NOT asynchronous AND tid IN (SELECT tid FROM thread_time)
ORDER BY 1
"""


def _syncs(run: Recorded, relations: Relations) -> list[Change]:
    rows = relations.rows(_SYNCS.format(start=relations.facts.start_ns))
    if len(rows) < 2:
        return []
    begins = np.array([begin for begin, _ in rows])
    in_syncs = sum(cpu for _, cpu in rows)
    cpu = sum(one.cpu_ns for one in run.slices)
    assumes = worded(
        "assumes-syncs",
        "the program may do without: a crash loses what was not synced; what it writes is written later",
    )
    unsafe = worded("because-unsafe", "a crash loses data")
    found = [
        Change(
            "no-syncs",
            worded("what-if-no-syncs", "no syncs ({syncs:count} now)", syncs=len(rows)),
            assumes,
            lambda: _without_syncs(run, begins, 0),
            cpu=1 - in_syncs / cpu if cpu else 1.0,
            because=unsafe,
        )
    ]
    if len(rows) >= 2 * _GROUPED:
        grouped = worded("what-if-grouped", "one sync for every {group:count}", group=_GROUPED)
        part = 1 - 1 / _GROUPED
        found.append(
            Change(
                "syncs-grouped",
                grouped,
                assumes,
                lambda: _without_syncs(run, begins, _GROUPED),
                cpu=1 - part * in_syncs / cpu if cpu else 1.0,
                because=unsafe,
            )
        )
    return found


def _without_syncs(run: Recorded, begins: Any, keep_each: int) -> Rule:
    """Without the waits of sync calls, and the flushes and commits that are made for them, but for each so many-th."""
    q, w = run.requests, run.waits
    of_wait = np.searchsorted(begins, w["begin_ns"], side="right") - 1
    of_request = np.searchsorted(begins, q["begin_ns"], side="right") - 1
    gone = w["syncs"].astype(bool)
    made_for = q["own"].astype(bool) & ((q["kind"] == 2) | (q["of"] == "journal"))
    if keep_each:
        gone &= of_wait % keep_each != keep_each - 1
        made_for &= of_request % keep_each != keep_each - 1
    return Rule(no_waits=gone, no_requests=made_for)


def _memory(run: Recorded, relations: Relations) -> list[Change]:
    q = run.requests
    if not len(q["own"]):
        return []
    reads = (q["kind"] == 0) & q["own"].astype(bool) & q["cached"].astype(bool)
    if not reads.any():
        return []
    found = [
        Change(
            "in-memory",
            worded("what-if-in-memory", "what it reads in memory"),
            worded("assumes-in-memory", "memory has room for it, and something has read it before"),
            lambda: Rule(no_requests=reads),
        )
    ]
    if run.part >= 1:
        # Of stretches of a run it is not known what was read between them.
        found += _more_memory(run, relations, reads)
    return found


def _more_memory(run: Recorded, relations: Relations, reads: Any) -> list[Change]:
    """Nothing is read again if all that it reads fits; where nothing is, more memory saves nothing."""
    again, ago, read, once = _read_again(run, reads)
    if read - once <= READ_AGAIN * read:
        nothing = Change(
            "memory-twice",
            _TWICE,
            worded("assumes-memory-twice", "it reads the same"),
            Rule,
            unsure=(0.0, 0.0),
            because=worded("because-read-once", "nothing is read twice"),
        )
        return [nothing]
    again_bytes = read - once
    memory = _memory_by_calls(relations, again_bytes)
    if memory is not None:
        once = memory.fits_bytes
    fits = Change(
        "fits",
        worded("what-if-fits", "memory for {once:bytes}", once=once),
        worded("assumes-fits", "what has been read once stays"),
        lambda: Rule(no_requests=again),
        because=worded(
            "because-read-again",
            "{again:bytes} of {read:bytes} read again",
            again=again_bytes,
            read=read,
        ),
    )
    return [fits, *_twice_the_memory(relations, memory, again, ago)] if memory else [fits]


def _had_bytes(relations: Relations) -> int | None:
    """Memory for file data that a control group left to the run; None if it met no limit."""
    return relations.value(
        int,
        "SELECT max(cached_bytes) FROM group_totals WHERE memory_limit_bytes IS NOT NULL AND memory_limit_hits > 0",
    )


def _memory_by_calls(relations: Relations, again_bytes: int) -> Memory | None:
    """None if calls do not explain what was read again: files are mapped, or others took the memory."""
    had, memory = _had_bytes(relations), relations.memory
    if had is None or not memory.fits_bytes:
        return None
    modelled = memory.at(had).again_bytes
    return memory if abs(modelled - again_bytes) <= _REPEATED * again_bytes else None


def _twice_the_memory(relations: Relations, memory: Memory, again: Any, ago: Any) -> list[Change]:
    """Of what is read again, that which is so after the shortest time stays in memory first. Nothing where twice as much may be what fits."""
    had = _had_bytes(relations)
    if had is None or not memory.at(had).again_bytes or 2 * had >= _SURELY * memory.fits_bytes:
        return []
    now, then = memory.at(had).again_bytes, memory.at(2 * had).again_bytes
    at = np.flatnonzero(again)
    order = at[np.argsort(ago[at], kind="stable")]
    gone = np.full(len(again), False)
    gone[order[: round(len(at) * max(0.0, 1 - then / now))]] = True
    unsure = 0.1 + min(1.0, _POINTS / max(1 - memory.at(2 * had).hit_share, _POINTS))
    return [
        Change(
            "memory-twice",
            _TWICE,
            worded("assumes-memory-lru", "the kernel keeps pages as its model here does"),
            lambda: Rule(no_requests=gone),
            unsure=(unsure, unsure),
            because=worded(
                "because-read-again-less",
                "{then:bytes} read again instead of {now:bytes}",
                then=then,
                now=now,
            ),
        )
    ]


def _read_again(run: Recorded, reads: Any) -> tuple[Any, Any, int, int]:
    """Requests of which earlier ones have read half of the blocks or more, and how long before, in ns; bytes that are read, and those of different places."""
    q = run.requests
    at = np.flatnonzero(reads)
    blocks = np.maximum(1, -(-q["bytes"][at] // _BLOCK))
    _, device = np.unique(q["dev"][at], return_inverse=True)
    ends = np.cumsum(blocks)
    within = np.arange(ends[-1]) - np.repeat(ends - blocks, blocks)
    places = (device.reshape(-1) << _BLOCK_BITS) + q["place"][at] // _BLOCK
    keys = np.repeat(places, blocks) + within
    of_request = np.repeat(np.arange(len(at)), blocks)
    # Requests are in the order of time, and so are those of one block next to each other.
    order = np.argsort(keys, kind="stable")
    repeats = np.flatnonzero(keys[order][1:] == keys[order][:-1])
    later, earlier = of_request[order[repeats + 1]], of_request[order[repeats]]
    old = np.bincount(later, minlength=len(at))
    since = np.full(len(at), np.inf)
    begin = q["begin_ns"][at]
    np.minimum.at(since, later, begin[later] - begin[earlier])
    again = np.full(len(reads), False)
    again[at] = 2 * old >= blocks
    ago = np.full(len(reads), np.inf)
    ago[at] = since
    return again, ago, int(ends[-1]) * _BLOCK, int(len(keys) - len(repeats)) * _BLOCK


def _others(run: Recorded) -> list[Change]:
    """Without others on the device: a request takes as long as one that was in flight alone."""
    q, dev = run.requests, main_device(run)
    if dev is None:
        return []
    here = q["dev"] == dev
    own = q["own"].astype(bool)
    if not (here & ~own).any():
        return []
    others = np.flatnonzero(here & ~own)
    begin = np.sort(q["begin_ns"][others])
    busy_until = np.maximum.accumulate(q["done_ns"][others][np.argsort(q["begin_ns"][others])])
    factors = []
    for kind in (0, 1, 2):
        mine = np.flatnonzero(here & own & (q["kind"] == kind))
        took = (q["done_ns"] - q["begin_ns"])[mine].astype(float)
        last = np.searchsorted(begin, q["done_ns"][mine]) - 1
        beside = (last >= 0) & (busy_until[np.maximum(last, 0)] > q["begin_ns"][mine])
        if beside.any() and (~beside).sum() < _ALONE_MIN:
            return []
        factors.append(min(1.0, took[~beside].mean() / took.mean()) if beside.any() else 1.0)
    alone = (factors[0], factors[1], factors[2])
    return [
        Change(
            "alone",
            worded("what-if-alone", "nobody else on the device"),
            worded("assumes-alone", "a request takes as long as those did that were alone"),
            lambda: Rule(media={dev: AsRecorded(alone)}, no_requests=~own),
        )
    ]


def _processors(run: Recorded) -> list[Change]:
    cpu = sum(one.cpu_ns for one in run.slices)
    gaps = sum(one.cpu_ns + one.runnable_ns for one in run.slices)
    found = [
        Change(
            "cpu-twice",
            worded("what-if-cpu-twice", "CPUs twice as fast"),
            worded("assumes-cpu-twice", "all that computes takes half the time"),
            lambda: Rule(computing=1 - 0.5 * cpu / gaps if gaps else 1.0),
            cpu=0.5,
            runnable=0.5,
            unsure=(0.05, 0.1),
        )
    ]
    if run.cpus:
        wanted = gaps / run.elapsed_ns
        left = max(0.0, wanted - 2 * run.cpus) / wanted if wanted else 0.0
        found.append(
            Change(
                "cpus-twice",
                worded(
                    "what-if-cpus-twice",
                    "{cpus:count} CPUs instead of {now:count}",
                    cpus=2 * run.cpus,
                    now=run.cpus,
                ),
                worded("assumes-cpus-twice", "it runs as many threads as now"),
                Rule,
                runnable=left,
                more_cpus=2.0,
            )
        )
    return found


def _limits(run: Recorded) -> list[Change]:
    held = run.waits["reason"] == "io_throttle"
    if not len(held) or not held.any():
        return []
    return [
        Change(
            "no-io-limit",
            worded("what-if-no-io-limit", "no I/O limit (group)"),
            worded("assumes-no-io-limit", "the device answers each request as quickly as now"),
            lambda: Rule(no_waits=held),
            unsure=(0.1, 1.0),
        )
    ]
