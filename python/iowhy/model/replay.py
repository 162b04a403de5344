"""The recorded run once more: threads compute as they did, and wait for what they waited for, which may answer by another rule.

Its points in time depend on each other: in a thread each follows the one before by the same time, a wait ends when the
request is done that ended it, and a worker of the kernel submits after that which was done last before it did. So what is no longer
waited for is not claimed twice, and requests that come sooner wait for each other in the device.
"""

from collections.abc import Mapping, Sequence
from heapq import heappop, heappush
from typing import Any

import numpy as np
from msgspec import Struct

from iowhy.model.medium import FLUSH, WRITE, AsRecorded, Medium, Request
from iowhy.model.recorded import Recorded

#: A wait has ended by a request that was done up to so long after: clocks are read one after the other.
_LATE_NS = 20_000
#: Requests for one stretch of a file are submitted together.
_TOGETHER_NS = 10_000
#: What ends a wait of these classes is a request; of the others the length stays as it was.
BY_REQUEST = ("read", "write", "sync", "collect")


class Rule(Struct, frozen=True):
    """What is other than in the recorded run: devices by number, waits that are not there, requests that nobody makes.

    `computing` is what the time between waits is multiplied with, `fixed` what waits by no request are, by class.
    """

    media: Mapping[int, Medium] = {}
    no_waits: Any = None
    no_requests: Any = None
    computing: float = 1.0
    fixed: Mapping[str, float] = {}


class Plan(Struct, frozen=True):
    """What depends on what: `edges` from a point, or from the end of a request, to a point.

    Points are the submissions of requests, then the beginnings of waits, then their ends. `after` and `ends` are by point the
    numbers of edges that leave it, or its request's end.
    """

    requests: tuple[Request, ...]
    devices: tuple[int, ...]
    waits: int
    targets: tuple[int, ...]
    gaps: tuple[float, ...]
    computes: tuple[bool, ...]
    by_end: tuple[bool, ...]
    after: Sequence[Sequence[int]]
    ends: Sequence[Sequence[int]]
    needs: tuple[int, ...]
    start: tuple[float, ...]


def plan(run: Recorded) -> Plan:
    """The points of a recorded run and what they depend on."""
    edges = _Edges(run)
    edges.threads()
    edges.workers()
    edges.locks()
    edges.waits_by_requests()
    edges.reads_in_turn()
    return edges.made()


class _Edges:
    """Collects edges: (from, is the end of a request, to, gap, whether the gap is computing)."""

    def __init__(self, run: Recorded) -> None:
        self.run, self.found = run, list[tuple[int, bool, int, float, bool]]()
        q, w = run.requests, run.waits
        self.r, self.w = len(q["begin_ns"]), len(w["begin_ns"])
        self.wait_end = w["begin_ns"] + w["dur_ns"]
        self.times = np.concatenate([q["begin_ns"], w["begin_ns"], self.wait_end]).astype(float)
        self.by_request = np.full(self.w, -1)
        self._ended_by()
        self.by_wait = self._released_by()

    def _ended_by(self) -> None:
        """The request by which each wait ended: the last one done before, of the thread's own if one is."""
        q, w = self.run.requests, self.run.waits
        own = np.flatnonzero(q["own"].astype(bool)) if self.r else np.array([], int)
        may = np.isin(w["of"], BY_REQUEST) if self.w else np.array([], bool)
        reads = np.isin(w["of"], ("read", "collect"))
        for tid in np.unique(w["tid"]):
            mine = np.flatnonzero((w["tid"] == tid) & may & reads)
            self._match(mine, own[q["tid"][own] == tid])
        self._match(np.flatnonzero(may & (self.by_request < 0)), own)

    def _match(self, waits: Any, requests: Any) -> None:
        if not len(waits) or not len(requests):
            return
        q, end = self.run.requests, self.wait_end[waits]
        requests = requests[np.argsort(q["done_ns"][requests], kind="stable")]
        for late in (0, _LATE_NS):
            at = np.searchsorted(q["done_ns"][requests], end + late, side="right") - 1
            last = requests[np.maximum(at, 0)]
            # One that was submitted after the wait has not ended it.
            good = (at >= 0) & (q["done_ns"][last] > self.run.waits["begin_ns"][waits])
            good &= q["begin_ns"][last] < end
            self.by_request[waits[good]] = last[good]

    def _released_by(self) -> Any:
        """The wait of another thread by whose end each wait for a lock ended: who holds it waits first. -1: none is seen."""
        w, found = self.run.waits, np.full(self.w, -1)
        if not self.w:
            return found
        order = np.argsort(self.wait_end, kind="stable")
        ends = self.wait_end[order]
        for wait in np.flatnonzero(w["of"] == "lock").tolist():
            at = int(np.searchsorted(ends, self.wait_end[wait])) - 1
            while at >= 0 and ends[at] > w["begin_ns"][wait]:
                if w["tid"][order[at]] != w["tid"][wait]:
                    found[wait] = order[at]
                    break
                at -= 1
        return found

    def locks(self) -> None:
        """A wait for a lock ends after the wait of who held it."""
        first_end = self.r + self.w
        for wait in np.flatnonzero(self.by_wait >= 0).tolist():
            other = int(self.by_wait[wait])
            gap = float(self.wait_end[wait] - self.wait_end[other])
            self.found.append((first_end + other, False, first_end + wait, gap, False))

    def threads(self) -> None:
        """Each point of a thread after the one before."""
        q, w, r = self.run.requests, self.run.waits, self.r
        tids = np.concatenate([q["tid"], w["tid"], w["tid"]])
        known = np.concatenate(
            [np.isin(q["tid"], list(self.run.threads)), np.full(2 * self.w, True)]
        ).astype(bool)
        points = np.flatnonzero(known)
        # Of one moment: a wait ends, a request is submitted, a wait begins.
        rank = np.where(points >= r + self.w, 0, np.where(points < r, 1, 2))
        points = points[np.lexsort((rank, self.times[points], tids[points]))]
        for before, here in zip(points[:-1].tolist(), points[1:].tolist(), strict=True):
            if tids[before] != tids[here]:
                continue
            gap = self.times[here] - self.times[before]
            wait = here - r - self.w
            if wait >= 0 and (self.by_request[wait] >= 0 or self.by_wait[wait] >= 0):
                self.found.append((before, False, here, 0.0, False))
            else:
                self.found.append((before, False, here, gap, wait < 0))

    def waits_by_requests(self) -> None:
        """A wait ends when its request is done, and as much later as it did."""
        done = self.run.requests["done_ns"]
        for wait in np.flatnonzero(self.by_request >= 0).tolist():
            request = int(self.by_request[wait])
            late = max(0.0, float(self.wait_end[wait] - done[request]))
            self.found.append((request, True, self.r + self.w + wait, late, False))

    def workers(self) -> None:
        """Others submit after what was done last before, or after a thread began to wait."""
        q, w, r = self.run.requests, self.run.waits, self.r
        own = q["own"].astype(bool) if r else np.array([], bool)
        kernel = own & ~np.isin(q["tid"], list(self.run.threads))
        ends, begins = np.flatnonzero(own), np.arange(self.w)
        sources = np.concatenate([ends, begins + r]).astype(int)
        times = np.concatenate([q["done_ns"][ends], w["begin_ns"]]).astype(float)
        is_end = np.concatenate([np.full(len(ends), True), np.full(self.w, False)])
        self._submitted_after(np.flatnonzero(kernel), sources, times, is_end)
        for tid in np.unique(q["tid"][~own]) if r else ():
            mine = np.flatnonzero(~own & (q["tid"] == tid))
            self._submitted_after(
                mine, mine, q["done_ns"][mine].astype(float), np.full(len(mine), True)
            )

    def _submitted_after(self, requests: Any, sources: Any, times: Any, is_end: Any) -> None:
        order = np.argsort(times, kind="stable")
        at = np.searchsorted(times[order], self.times[requests], side="right") - 1
        for request, place in zip(requests.tolist(), at.tolist(), strict=True):
            if place >= 0:
                found = order[place]
                gap = float(self.times[request] - times[found])
                self.found.append((int(sources[found]), bool(is_end[found]), request, gap, False))

    def reads_in_turn(self) -> None:
        """A thread has what it read before, when it submits what it reads next.

        Of what is read ahead in order it has all but the stretch before: that is on its way when it asks for the next one.
        """
        q = self.run.requests
        if not self.r:
            return
        mine = np.flatnonzero((q["kind"] == 0) & np.isin(q["tid"], list(self.run.threads)))
        for tid in np.unique(q["tid"][mine]):
            reads = mine[q["tid"][mine] == tid]
            done = q["done_ns"][reads]
            order = np.argsort(done, kind="stable")
            upto = self._ahead(reads)
            at = np.searchsorted(done[order], upto, side="right") - 1
            for read, place in zip(reads.tolist(), at.tolist(), strict=True):
                if place >= 0:
                    self.found.append((int(reads[order[place]]), True, read, 0.0, False))

    def _ahead(self, reads: Any) -> Any:
        """Until when something must be done that a thread has when it submits each of its reads."""
        q = self.run.requests
        begin, ino = q["begin_ns"][reads], q["ino"][reads]
        page, pages = q["page"][reads], -(-q["bytes"][reads] // 4096)
        follows = np.zeros(len(reads), bool)
        follows[1:] = (ino[1:] == ino[:-1]) & (page[1:] >= 0) & (page[1:] == page[:-1] + pages[:-1])
        together = np.zeros(len(reads), bool)
        together[1:] = follows[1:] & (np.diff(begin) < _TOGETHER_NS)
        first = np.maximum.accumulate(np.where(together, 0, np.arange(len(reads))))
        before = first[np.maximum(first - 1, 0)]
        return np.where(follows[first] & (first > 0), begin[before], begin)

    def made(self) -> Plan:
        """The plan; points that follow nothing begin when they did."""
        q = self.run.requests
        points = self.r + 2 * self.w
        after: list[list[int]] = [[] for _ in range(points)]
        ends: list[list[int]] = [[] for _ in range(self.r)]
        needs = [0] * points
        for number, (source, is_end, target, _, _) in enumerate(self.found):
            (ends if is_end else after)[source].append(number)
            needs[target] += 1
        return Plan(
            _requests(q, self.r),
            tuple(q["dev"].tolist()) if self.r else (),
            self.w,
            tuple(edge[2] for edge in self.found),
            tuple(float(edge[3]) for edge in self.found),
            tuple(edge[4] for edge in self.found),
            tuple(edge[1] for edge in self.found),
            after,
            ends,
            tuple(needs),
            tuple(self.times.tolist()),
        )


def _requests(q: Any, count: int) -> tuple[Request, ...]:
    if not count:
        return ()
    took = (q["done_ns"] - q["begin_ns"]).astype(float).tolist()
    columns = (q["kind"].tolist(), q["place"].tolist(), q["bytes"].tolist(), took)
    return tuple(map(Request, range(count), *columns))


def ways(run: Recorded, dev: int, cache_bytes: float) -> Sequence[float]:
    """By request, the bytes from the write before it, as a device sorts what its cache holds between two flushes."""
    q = run.requests
    found = np.zeros(len(q["dev"]))
    here = np.flatnonzero(q["dev"] == dev)
    writes = here[q["kind"][here] == WRITE]
    if len(writes):
        flushes = q["begin_ns"][here[q["kind"][here] == FLUSH]]
        epoch = np.searchsorted(flushes, q["begin_ns"][writes])
        full = np.cumsum(q["bytes"][writes]) // max(cache_bytes, 1)
        order = writes[np.lexsort((q["place"][writes], full, epoch))]
        ends = q["place"][order] + q["bytes"][order]
        found[order[1:]] = np.abs(q["place"][order][1:] - ends[:-1])
    return list(found.tolist())


class Replayed(Struct, frozen=True):
    """How long each wait is now, and when the last point is reached."""

    waits_ns: Any
    end_ns: float


def replay(made: Plan, run: Recorded, rule: Rule) -> Replayed:
    """Executes a plan under a rule."""
    work = _Work(made, run, rule)
    work.all_points()
    first = len(made.requests)
    begins = np.array(work.at[first : first + made.waits])
    ends = np.array(work.at[first + made.waits :])
    return Replayed(ends - begins, max(work.at, default=0.0))


class _Work:
    """One execution: `at` is when each point is reached."""

    def __init__(self, made: Plan, run: Recorded, rule: Rule) -> None:
        self.made, self.rule = made, rule
        self.needs = list(made.needs)
        self.at = [0.0] * len(made.needs)
        self.gaps = _gaps(made, run, rule)
        self.gone = rule.no_requests.tolist() if rule.no_requests is not None else None
        self.free = rule.no_waits.tolist() if rule.no_waits is not None else None
        recorded = AsRecorded()
        self.media: dict[int, Medium] = {
            dev: rule.media.get(dev, recorded) for dev in set(made.devices)
        }
        self.asked: dict[int, float] = {}
        self.heap: list[tuple[float, int]] = [
            (start, point)
            for point, (start, needs) in enumerate(zip(made.start, made.needs, strict=True))
            if not needs
        ]
        self.heap.sort()

    def all_points(self) -> None:
        """In the order of time. A negative number is a device that begins its next request."""
        requests, heap = len(self.made.requests), self.heap
        while heap:
            now, point = heappop(heap)
            if point < 0:
                self._advance(now, -point)
                continue
            self.at[point] = now
            self._reach(self.made.after[point], now)
            if point < requests:
                self._submit(now, point)

    def _reach(self, edges: Sequence[int], now: float, took: float = 0.0) -> None:
        """Edges that leave a point, or the end of a request that took so long: as late as that at most is a wait's end after it.

        The kernel lets an idle CPU sleep no deeper than the wait promises to be long (cpuidle's target residency).
        """
        made, free = self.made, self.free
        first_end = len(made.requests) + made.waits
        for edge in edges:
            target = made.targets[edge]
            gap = self.gaps[edge]
            if made.by_end[edge] and target >= first_end:
                gap = min(gap, took)
            when = now + gap
            if free is not None and target >= first_end and free[target - first_end]:
                when = 0.0 if made.by_end[edge] else now
            self.at[target] = max(self.at[target], when)
            self.needs[target] -= 1
            if not self.needs[target]:
                heappush(self.heap, (self.at[target], target))

    def _submit(self, now: float, point: int) -> None:
        if self.gone is not None and self.gone[point]:
            self._reach(self.made.ends[point], now)
            return
        dev = self.made.devices[point]
        medium = self.media[dev]
        done = medium.submit(now, self.made.requests[point])
        if done is not None:
            self._reach(self.made.ends[point], done, done - now)
        self._ask(dev, medium)

    def _advance(self, now: float, dev: int) -> None:
        medium = self.media[dev]
        self.asked.pop(dev, None)
        if medium.next_ns is None:
            return
        if medium.next_ns > now:
            self._ask(dev, medium)
            return
        number, done = medium.advance(now)
        self._reach(self.made.ends[number], done, done - self.at[number])
        self._ask(dev, medium)

    def _ask(self, dev: int, medium: Medium) -> None:
        if medium.next_ns is not None and dev not in self.asked:
            self.asked[dev] = medium.next_ns
            heappush(self.heap, (medium.next_ns, -dev))


def _gaps(made: Plan, run: Recorded, rule: Rule) -> list[float]:
    gaps = list(made.gaps)
    if rule.computing != 1.0:
        gaps = [
            gap * rule.computing if computes else gap
            for gap, computes in zip(gaps, made.computes, strict=True)
        ]
    if rule.fixed:
        first_end = len(made.requests) + made.waits
        of = run.waits["of"].tolist()
        for edge, target in enumerate(made.targets):
            if target >= first_end and gaps[edge]:
                gaps[edge] *= rule.fixed.get(of[target - first_end], 1.0)
    return gaps
