"""What each phase of a run did, in a few words, and which finding of the whole explains it: no phase is judged for that."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from msgspec import Struct
from msgspec.structs import replace

from iowhy.relations.change_points import Phase
from iowhy.sentences import Sentence, worded
from iowhy.whys import classes
from iowhy.whys.facts import Facts
from iowhy.whys.finding import OF_TIME, Finding
from iowhy.whys.phase_work import NOTHING, Work, works

#: From this part of a phase in which its device has requests and completes none, it is silent.
SILENT = 0.5
#: Of a phase with a request in flight, below which the device idles.
IDLE = 0.02
#: Of the CPUs, in use on average, from which all are.
FULL = 0.9
#: How many times as long a request takes in one of two phases that do the same, if a reader is to see both.
SLOWER = 2.0
#: Phases at most of which numbers are said: more fill the screen.
COUNTED = 4
#: Requests of a phase, from which their number is said; and of those of the device in the whole, others' at most.
SOME = 2
OTHERS = 0.1
#: Of the time of a class, from which a finding about it explains what a phase spends in it.
EXPLAINS = 0.75
_DOES = {
    classes.USER: "computes",
    classes.KERNEL: "computes in the kernel",
    classes.RUNNABLE: "waits for a CPU",
    classes.READ: "waits to read",
    classes.WRITE: "waits to write",
    classes.SYNC: "waits for syncs",
    classes.THROTTLED: "is paused as it writes",
    classes.IDLE: "idles",
    classes.UNEXPLAINED: "waits, why is not known",
}


class PhaseDone(Struct, frozen=True):
    """A phase: `cls` is the class of most of its time. `cause`: that of a finding about the whole which explains that class.

    Both are None where no thread was timed: then it is of what the device does. `waited_ns`: what all threads waited for storage. `silent_share`: of the phase, the device had requests in flight and
    completed none; None if not known. `requests`, of `bytes` together: what it completed, if the phase waits to read or write and hardly any is others'.
    `syncs`: that began in it, if it waits for them. `work`: with which files, or in which program.
    """

    number: int
    begin_s: float
    end_s: float
    does: Sentence
    cls: str | None
    share: float | None
    cause: str | None
    waited_ns: int | None
    device: str | None
    silent_share: float | None
    requests: float | None = None
    bytes: float | None = None
    took_ns: float | None = None
    syncs: int | None = None
    work: Work = NOTHING

    @property
    def said(self) -> str:
        """`0–3.1 s waits to read 4,100 .h files, 9,300 requests of 12 KiB, 2.1 ms each (cache-cold)`."""
        cause = f" ({self.cause})" if self.cause else ""
        return (
            f"{_seconds(self.begin_s)}–{_seconds(self.end_s)} s {self._done}{self._counted}{cause}"
        )

    @property
    def _done(self) -> str:
        """What it does, with what."""
        if (self.silent_share or 0.0) >= SILENT:
            return self.does
        work, said = self.work, self.work.said
        if self.cls == classes.SYNC and (self.syncs or said):
            return worded(
                "phase-syncs",
                "waits for "
                + ("{syncs:count sync}" if self.syncs else "syncs")
                + ("" if said is None else " of {file}"),
                syncs=self.syncs,
                file=said,
            )
        if work.call is not None:
            return worded(
                "phase-call",
                ("" if work.program is None else "{program} ")
                + "{does} for {call}"
                + ("" if said is None else " of {file}"),
                program=work.program,
                does=self.does,
                call=work.call,
                file=said,
            )
        if work.program is not None:
            return worded("phase-program", "{program} {does}", program=work.program, does=self.does)
        return (
            self.does
            if said is None
            else worded("phase-works", "{does} {file}", does=self.does, file=said)
        )

    @property
    def _counted(self) -> str:
        if self.syncs:
            return ""
        if not self.requests or not self.bytes or self.requests < SOME:
            return (
                ""
                if self.took_ns is None
                else worded("phase-took", ", {took:ns} per request", took=self.took_ns)
            )
        return worded(
            "phase-requests",
            ", {requests:count} requests of {each:bytes}"
            + ("" if self.took_ns is None else ", {took:ns} each"),
            requests=self.requests,
            each=self.bytes / self.requests,
            took=self.took_ns,
        )

    def is_like(self, other: "PhaseDone") -> bool:
        """Whether a reader sees no difference."""
        quicker, slower = sorted((self.took_ns or 1.0, other.took_ns or 1.0))
        known = self.took_ns is not None and other.took_ns is not None
        alike = (self.does, self.cause, *self.work.about) == (
            other.does,
            other.cause,
            *other.work.about,
        )
        return alike and not (known and slower >= SLOWER * quicker)


def in_words(found: Sequence[PhaseDone]) -> list[str]:
    """What was done when: phases that follow each other and hardly differ are one. Nothing where all are.

    How long a request took is said where a phase and the next one do the same.
    """
    alike: list[list[PhaseDone]] = []
    for one in found:
        if alike and one.is_like(alike[-1][0]):
            alike[-1].append(one)
        else:
            alike.append([one])
    if len(alike) < 2:
        return []
    counts = len(alike) <= COUNTED
    done = [_as_one(group, counts=counts) for group in alike]
    same = {
        at + more for at, (a, b) in enumerate(pairwise(done)) for more in (0, 1) if a.does == b.does
    }
    return [(one if at in same else replace(one, took_ns=None)).said for at, one in enumerate(done)]


def _as_one(group: Sequence[PhaseDone], *, counts: bool) -> PhaseDone:
    # Files of two phases may be the same ones.
    files = max((each.work.files or 0 for each in group), default=0)
    work = replace(group[0].work, files=files) if files else group[0].work
    one = replace(group[0], end_s=group[-1].end_s, work=work)
    if not counts:
        return replace(one, requests=None, syncs=None)
    requests = sum(one.requests or 0 for one in group)
    took = sum((one.took_ns or 0.0) * (one.requests or 0) for one in group)
    return replace(
        one,
        requests=requests,
        bytes=sum(one.bytes or 0 for one in group),
        took_ns=took / requests if requests and one.took_ns is not None else None,
        syncs=sum(one.syncs or 0 for one in group),
    )


class _Device(Struct, frozen=True):
    name: str | None
    requests: float
    bytes: float
    busy_ns: float | None
    took_ns: float | None
    silent_ns: float | None


class _Row(Struct, frozen=True):
    cls: str
    elapsed_ns: float
    cpu_ns: float
    waited_ns: float
    device: str | None
    silent_ns: float | None
    requests: float | None
    bytes: float | None
    took_ns: float | None


def phases(facts: Facts, findings: Sequence[Finding]) -> tuple[PhaseDone, ...]:
    """The phases of a run that has several; none of an even one."""
    cut = facts.relations.phases
    if len(cut) < 2:
        return ()
    if not facts.relations.facts.timed:
        return _of_device(facts, cut)
    rows = facts.relations.by(_Row, _SQL.format(storage=classes.quoted(_STORAGE)))
    own = (facts.requests.others_share or 0.0) <= OTHERS
    syncs = _syncs(facts, rows)
    worked = works(facts, {one.number: rows[(one.number,)].cls for one in cut})
    found = []
    for one, row in zip(cut, (rows[(one.number,)] for one in cut), strict=True):
        ns = max(1, one.end_ns - one.begin_ns)
        silent = None if row.silent_ns is None else min(1.0, row.silent_ns / ns)
        is_silent = silent is not None and silent >= SILENT
        counted = own and row.cls in _MOVES and not is_silent
        found.append(
            PhaseDone(
                one.number,
                one.begin_ns / 1e9,
                one.end_ns / 1e9,
                _does(facts, row, ns, silent),
                row.cls,
                min(1.0, row.elapsed_ns / ns),
                None if is_silent else _cause(facts, row.cls, findings),
                round(row.waited_ns),
                row.device,
                silent,
                row.requests if counted else None,
                row.bytes if counted else None,
                row.took_ns if counted else None,
                None if is_silent else syncs.get(one.number),
                worked.get(one.number, NOTHING),
            )
        )
    return tuple(found)


def _syncs(facts: Facts, rows: Mapping[tuple[object, ...], _Row]) -> dict[object, int]:
    """Of the phases that wait for syncs, how many began there."""
    waits = [number for (number,), row in rows.items() if row.cls == classes.SYNC]
    if not waits:
        return {}
    found: dict[object, int] = dict(facts.relations.rows(_SYNCS))
    return {number: found[number] for number in waits if number in found}


def _of_device(facts: Facts, cut: Sequence[Phase]) -> tuple[PhaseDone, ...]:
    """What the device did, where its counters are all that is known."""
    rows = facts.relations.by(_Device, _DEVICE_SQL)
    found = []
    for one in cut:
        row, ns = rows.get((one.number,)), max(1, one.end_ns - one.begin_ns)
        if row is None:
            return ()
        silent = None if row.silent_ns is None else min(1.0, row.silent_ns / ns)
        span = one.number, one.begin_ns / 1e9, one.end_ns / 1e9
        does = _device_does(row, ns, silent)
        found.append(PhaseDone(*span, does, None, None, None, None, row.name, silent))
    return tuple(found)


def _device_does(row: _Device, ns: int, silent: float | None) -> Sentence:
    name = row.name or "its device"
    if silent is not None and silent >= SILENT:
        return worded("device-answers-nobody", "{device} answers nobody", device=name)
    if row.requests < 1 or (row.busy_ns is not None and row.busy_ns < IDLE * ns):
        return worded("device-idles", "{device} idles", device=name)
    return worded(
        "phase-device-does",
        "{device} does {requests:count} requests/s of {each:bytes}"
        + ("" if row.took_ns is None else ", {took:ns} each"),
        device=name,
        requests=row.requests * 1e9 / ns,
        each=row.bytes / row.requests,
        took=row.took_ns,
    )


_DEVICE_SQL = """
SELECT q.phase, n.name, q.requests, q.bytes, CAST(q.busy_ns AS DOUBLE) AS busy_ns, CAST(q.took_ns AS DOUBLE) AS took_ns,
    CAST(q.silent_ns AS DOUBLE) AS silent_ns
FROM phase_devices q JOIN phase_device p ON p.dev = q.dev
LEFT JOIN (SELECT dev, max(name) AS name FROM devices GROUP BY dev) n ON n.dev = q.dev
"""
_STORAGE = frozenset({*classes.STORAGE, classes.THROTTLED})
_MOVES = _STORAGE - {classes.SYNC}
_SYNCS = """
SELECT p.phase, count(*) AS syncs
FROM file_operations o JOIN call_kinds k ON k.name = o.name AND k.kind = 'sync'
JOIN phases p ON o.ts_ns >= p.begin_ns AND o.ts_ns < p.end_ns
GROUP BY p.phase
"""
_SQL = """
WITH c AS (
    SELECT phase, b.class, elapsed_ns, thread_ns, b.key,
        row_number() OVER (PARTITION BY phase ORDER BY elapsed_ns DESC, b.place) AS place
    FROM phase_classes JOIN budget_classes b ON b.key = phase_classes.class
), sums AS (
    SELECT phase,
        coalesce(sum(thread_ns) FILTER (WHERE key IN ('user', 'kernel')), 0) AS cpu_ns,
        coalesce(sum(thread_ns) FILTER (WHERE class IN {storage}), 0) AS waited_ns
    FROM c GROUP BY phase
), d AS (
    SELECT q.phase, n.name, q.silent_ns, q.requests, q.bytes, q.took_ns
    FROM phase_devices q JOIN phase_device p ON p.dev = q.dev
    LEFT JOIN (SELECT dev, max(name) AS name FROM devices GROUP BY dev) n ON n.dev = q.dev
)
SELECT c.phase, c.class AS cls, CAST(c.elapsed_ns AS DOUBLE) AS elapsed_ns, CAST(s.cpu_ns AS DOUBLE) AS cpu_ns,
    CAST(s.waited_ns AS DOUBLE) AS waited_ns, d.name AS device, CAST(d.silent_ns AS DOUBLE) AS silent_ns, CAST(d.requests AS DOUBLE) AS requests,
    CAST(d.bytes AS DOUBLE) AS bytes, CAST(d.took_ns AS DOUBLE) AS took_ns
FROM c JOIN sums s ON s.phase = c.phase LEFT JOIN d ON d.phase = c.phase
WHERE c.place = 1 ORDER BY c.phase
"""


def _does(facts: Facts, row: _Row, ns: int, silent: float | None) -> Sentence:
    waits = row.cls in _STORAGE
    if waits and silent is not None and silent >= SILENT and row.device is not None:
        return worded(
            "device-silent",
            "{device} answers nobody, {waited:ns} waited",
            device=row.device,
            waited=row.waited_ns,
        )
    cpus, used = facts.relations.facts.cpus, row.cpu_ns / ns
    if row.cls in classes.CPU and cpus is not None and cpus > 1 and used >= FULL * cpus:
        said = "computes, {cpus:count CPU} full"
        return worded("computes-full", said, cpus=cpus)
    return worded(
        "mostly-does",
        "{doing}",
        doing=_DOES.get(row.cls, f"is {row.cls}"),
        cls=row.cls,
        share=row.elapsed_ns / ns,
    )


def _cause(facts: Facts, cls: str, findings: Sequence[Finding]) -> str | None:
    """The finding that explains most of the class over the whole, if it explains enough of it."""
    whole = facts.budget.elapsed(cls)
    for one in findings:
        able = cls in one.classes and one.share_of in OF_TIME and not one.healthy
        others = sum(facts.budget.elapsed(name) for name in one.classes if name != cls)
        if able and whole > 0 and (one.share - others) / whole >= EXPLAINS:
            return one.cause
    return None


def _seconds(seconds: float) -> str:
    """Tenths, and of long recordings whole seconds."""
    return f"{seconds:.1f}" if seconds < 100 else f"{seconds:.0f}"
