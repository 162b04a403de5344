"""The time budget: every thread-second in exactly one class, and the elapsed time divided likewise.

It is computed in SQL (relations/budget_pieces.sql), once for the report, the verdict, the comparison
and the JSON; here it is read. See docs/budget.md.
"""

import math
from collections.abc import Iterable

from msgspec import Struct, field
from msgspec.structs import replace

from iowhy.relations import Relations
from iowhy.relations.cpu_limits import SATURATED
from iowhy.sentences import worded
from iowhy.whys import classes

#: What the shares are of, by where the pieces come from: the time of threads, of calls, of waits, or the
#: machine's CPUs.
BASIS = {
    "threads": "threads",
    "calls": "calls",
    "totals": "calls",
    "curt": "calls",
    "latencytop": "waits",
    "machine": "machine",
    "fio": "calls",
    "darshan": "job",
}

#: From this share of the time on it is said what the recorder itself took, and findings are of the time without it: less moves
#: no other share by a point or two.
RECORDER_SAID = 0.03

#: The reason of waiting CPUs where no text has a direction, as relations/pasted_sums.sql gives it.
NO_DIRECTION = "I/O of which the text does not say whether it reads or writes"


class Piece(Struct, frozen=True):
    """Time of one class, by the call and reason behind it; `mode` is how CPUs were used then.

    `thread_ns` is None for evidence that counts no threads, `elapsed_ns` if not known how
    long it took. `elapsed_part` is its part of the elapsed time: the parts of all pieces are the whole.
    `origin` is the evidence (`BASIS`), `elapsed` a share (0..1) of the time that findings speak of (`Budget.left_out`).
    """

    cls: str
    call: str | None
    reason: str | None
    mode: str | None
    thread_ns: int | None
    elapsed_part: int
    elapsed_ns: int | None = None
    origin: str = "threads"
    elapsed: float = 0.0


class Line(Struct, frozen=True):
    """One class: time of all threads and its share, time of the elapsed time and its share.

    As in Piece, None where nothing counts threads, and where the elapsed time is not known.
    """

    cls: str
    thread_ns: int | None
    share: float | None
    elapsed_ns: int | None
    elapsed_share: float

    @property
    def thread_s(self) -> float | None:
        """Thread-seconds."""
        return None if self.thread_ns is None else self.thread_ns / 1e9


class Budget(Struct, frozen=True):
    """`pieces` add up to the elapsed time; `known` is false without any evidence of time.

    `lines` are of all that time, for those who draw it. What causes ask (`elapsed`, `calls`, `modes`, `heaviest_*`, pieces'
    `elapsed`) is a share of the time that the command itself takes: `left_out` (0..1) is the part of the elapsed time that the recorder
    took, if that is so much that no share would be the command's; else 0.
    """

    known: bool
    pieces: tuple[Piece, ...] = ()
    thread_ns: int | None = None
    notes: tuple[str, ...] = ()
    unknowns: tuple[str, ...] = ()
    intervals: int | None = None
    basis: str = "threads"
    #: The number of CPUs is not known: how long one program waits is at least its share, and may be all of the time.
    lower_bound: bool = False
    left_out: float = 0.0
    _lines: dict[str, Line] = field(default_factory=dict)

    @property
    def thread_s(self) -> float | None:
        """Time of all threads, in seconds."""
        return None if self.thread_ns is None else self.thread_ns / 1e9

    @property
    def lines(self) -> tuple[Line, ...]:
        """The classes in their fixed order; all of them, also those without time."""
        return tuple(self.line(cls) for cls in classes.ALL)

    def line(self, cls: str) -> Line:
        """One class."""
        if not self._lines:
            whole = sum(piece.elapsed_part for piece in self.pieces)
            timed = all(piece.elapsed_ns is not None for piece in self.pieces)
            for name in classes.ALL:
                mine = [piece for piece in self.pieces if piece.cls == name]
                part = sum(piece.elapsed_part for piece in mine)
                thread_ns = None
                if self.thread_ns is not None:
                    thread_ns = sum(piece.thread_ns or 0 for piece in mine)
                self._lines[name] = Line(
                    name,
                    thread_ns,
                    thread_ns / self.thread_ns
                    if thread_ns is not None and self.thread_ns
                    else None,
                    part if timed and self.pieces else None,
                    part / whole if whole else 0.0,
                )
        return self._lines[cls]

    def elapsed(self, *chosen: str) -> float:
        """Share of the time of some classes; what is left out has none."""
        counted = (cls for cls in chosen if not (self.left_out and cls == classes.RECORDER))
        return sum(self.line(cls).elapsed_share for cls in counted) / (1.0 - self.left_out)

    def calls(self, chosen: Iterable[str], of: Iterable[str] = classes.ALL) -> float:
        """Share of the time in some calls, over some classes."""
        calls, among = frozenset(chosen), frozenset(of)
        return sum(p.elapsed for p in self.pieces if p.call in calls and p.cls in among)

    def asleep(self, *chosen: str) -> float:
        """Share of the time of some classes in which threads sleep in no wait of the kernel that is known, as until operations are done."""
        return sum(p.elapsed for p in self.pieces if p.cls in chosen and p.reason is None)

    def reason_ns(self, cls: str, reason: str) -> int:
        """Time of all threads in a class for one reason; 0 also where threads are not counted."""
        return sum(p.thread_ns or 0 for p in self.pieces if p.cls == cls and p.reason == reason)

    def modes(self, *chosen: str) -> float:
        """Share of the time on a CPU in intervals of some modes."""
        return sum(p.elapsed for p in self.pieces if p.cls in classes.CPU and p.mode in chosen)

    def heaviest_calls(self, among: frozenset[str]) -> list[tuple[str, float]]:
        """Calls by their share of the time within some classes, heaviest first."""
        sums: dict[str, float] = {}
        for piece in self.pieces:
            if piece.cls in among:
                # Only a recorded wait outside any call is a page fault; other sources know no calls.
                fault = "page fault" if piece.reason in classes.KNOWN_REASONS else ""
                name = piece.call or fault
                sums[name] = sums.get(name, 0.0) + piece.elapsed
        return sorted(sums.items(), key=lambda item: -item[1])

    def heaviest_reasons(self, among: frozenset[str]) -> list[tuple[str, float]]:
        """Reasons by their share of the time within some classes, heaviest first."""
        sums: dict[str, float] = {}
        for piece in self.pieces:
            if piece.cls in among and piece.reason is not None:
                sums[piece.reason] = sums.get(piece.reason, 0.0) + piece.elapsed
        return sorted(sums.items(), key=lambda item: -item[1])


def measure(relations: Relations) -> Budget:
    """The budget of a recording, whichever its evidence. Raises DuckDB's errors."""
    pieces = relations.read(
        Piece,
        """SELECT class AS cls, syscall AS call, reason, mode, thread_ns, elapsed_part, elapsed_ns, origin
        FROM budget_pieces
        ORDER BY elapsed_part DESC, thread_ns DESC, class, syscall, reason, mode""",
    )
    if not pieces:
        return Budget(
            known=False,
            unknowns=(worded("time-unknown", "where the time went: this does not say"),),
        )
    whole = sum(row.elapsed_part for row in pieces)
    timed = [row.thread_ns for row in pieces if row.thread_ns is not None]
    origin = pieces[0].origin
    basis = BASIS[origin]
    notes, unknowns = _said(relations, basis, origin)
    recorder = sum(row.elapsed_part for row in pieces if row.cls == classes.RECORDER)
    left_out = recorder if RECORDER_SAID * whole <= recorder < whole else 0
    if left_out:
        notes = (*notes, _of_recorder(relations, pieces, left_out / whole))
    return Budget(
        known=True,
        pieces=tuple(
            row
            if left_out and row.cls == classes.RECORDER
            else replace(row, elapsed=row.elapsed_part / (whole - left_out))
            for row in pieces
        ),
        thread_ns=sum(timed) if timed else None,
        notes=notes,
        unknowns=unknowns,
        intervals=_intervals(relations) if basis == "threads" else None,
        basis=basis,
        lower_bound="the number of CPUs" in unknowns,
        left_out=left_out / whole,
    )


_Words = tuple[tuple[str, ...], tuple[str, ...]]


def _said(relations: Relations, basis: str, origin: str) -> _Words:
    """Notes on what the shares are of, and what the evidence does not say."""
    if basis == "threads":
        return (), _unknown_of_threads(relations)
    if basis == "machine":
        return _of_machine(relations)
    if basis == "waits":
        return (
            (
                worded(
                    "shares-of-blocked",
                    "shares are of the time that threads were blocked, as latencytop counts it",
                ),
            ),
            (worded("cpu-unknown", "the time on a CPU: latencytop counts only waits"),),
        )
    if basis == "job":
        return (
            (
                "shares are of the job's time, as its slowest process spends it; what it does outside calls of I/O counts "
                "as computing, and may be communication",
            ),
            (),
        )
    if origin == "fio":
        said = "shares are of fio's own time: its calls are not those of another program"
        return (worded("shares-of-fio", said),), ()
    known = relations.value(bool, "SELECT count(cpu_ns) > 0 FROM pasted_calls")
    return (
        (
            worded(
                "shares-of-calls",
                "shares are of the time in traced calls, as the tool that printed them counts it",
            ),
        ),
        ()
        if known
        else (
            worded(
                "calls-cpu-unknown",
                "how much of a call's time was on a CPU: the tool prints only durations",
            ),
        ),
    )


def _of_recorder(relations: Relations, pieces: list[Piece], share: float) -> str:
    """What recording the calls took, per call where they were counted."""
    ns = sum(row.thread_ns or 0 for row in pieces if row.cls == classes.RECORDER)
    calls = relations.value(int, "SELECT sum(calls) FROM thread_calls")
    return worded(
        "recorder-took",
        "{share:share} of the time is what the recorder itself took of the CPU to record the calls ({took:ns}"
        + (", {each:ns} for each of {calls:count} calls" if calls else "")
        + "); no other line has it, and findings are of the time without it",
        share=share,
        took=ns,
        each=ns / calls if calls else None,
        calls=calls,
    )


def _unknown_of_threads(relations: Relations) -> tuple[str, ...]:
    unknowns: list[str] = []
    if "waits" not in relations.facts.ran and not relations.has("waits"):
        said = (
            "what uninterruptible waits were for: only root with BPF sees their reasons "
            "(`sudo iowhy run -- CMD`)"
        )
        unknowns.append(worded("reasons-unknown", said))
    row = relations.rows(
        """SELECT avg(CASE WHEN cpu_kernel_ns IS NULL THEN 1.0 ELSE 0.0 END) > 0.5,
        avg(CASE WHEN runnable_ns IS NULL THEN 1.0 ELSE 0.0 END) > 0.5,
        avg(CASE WHEN blocked_ns IS NULL THEN 1.0 ELSE 0.0 END) > 0.5 FROM thread_time"""
    )[0]
    words = (
        worded("kernel-unknown", "user from kernel time: they are counted together as user"),
        worded("runnable-unknown", "the time that threads waited for a CPU"),
        worded("blocked-unknown", "the time that threads waited for devices"),
    )
    return (*unknowns, *(text for text, missing in zip(words, row, strict=True) if missing))


def _of_machine(relations: Relations) -> _Words:
    ((cpus, fitted, busy, waiting, iowait, runnable, mode, reads),) = relations.rows(
        """SELECT m.cpus, m.fitted, m.busy_cpus, m.waiting_cpus, m.iowait, m.runnable, m.mode, d.read_share
        FROM machine_use AS m CROSS JOIN traffic_direction AS d"""
    )
    notes: list[str] = []
    if fitted:
        said = "the number of CPUs is not in the text; the figures fit {cpus}"
        notes.append(worded("cpus-fitted", said, cpus=cpus))
    if busy + waiting <= 0:
        return tuple(notes), ()
    if mode == "serial" and busy >= SATURATED and (runnable or 0.0) > 0:
        notes.append(worded("wait-while-idle", "processes wait to run although a CPU idles"))
    if reads is None and waiting > 0 and not iowait:
        said = "whether processes that are blocked read or write is not in the text"
        notes.append(worded("direction-unknown", said))
    said = "which process used the time: these are figures of the whole machine"
    unknowns: list[str] = [worded("process-unknown", said)]
    if cpus is None:
        unknowns.append(worded("cpus-unknown", "the number of CPUs"))
    return tuple(notes), tuple(unknowns)


def _intervals(relations: Relations) -> int:
    """How many times what threads did was read: the intervals that hold the work, one after the other.

    Intervals of sleep alone can be of any length.
    """
    usual = relations.value(
        float,
        """SELECT sum(CAST(interval_ns AS DOUBLE) * interval_ns) / sum(interval_ns) FROM thread_time
        WHERE coalesce(sleeping_ns, 0) < interval_ns""",
    )
    elapsed = relations.facts.elapsed_ns
    if usual is None or usual >= elapsed:
        return 1
    # A last sliver is none of its own.
    return max(1, math.ceil(elapsed / usual - 0.25))
