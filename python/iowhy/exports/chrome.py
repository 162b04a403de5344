"""A trace in the JSON that chrome://tracing and many older viewers read: the same tracks, slices, flows and counters as for Perfetto.

The form is that of Google's "Trace Event Format": complete events (X), instants (i), counters (C), flows (s, t, f) and
names of processes and threads (M); times are microseconds with a fraction, so that no nanosecond is lost. A track is a
pair of process and thread there: what is not a thread (devices, journals, findings) gets numbers that no process of Linux
has (pid_max is at most 2^22).
"""

from collections.abc import Hashable, Iterator
from typing import Any

import numpy as np
from msgspec import field

from iowhy.exports.trace import Events, Note, Trace
from iowhy.exports.wire import Numbers
from iowhy.messages import json_text
from iowhy.reports.columns import filled

#: Beyond the numbers of processes and threads (PID_MAX_LIMIT of Linux).
_FIRST_OWN = 1 << 22
_CHUNK_BYTES = 1 << 20


class ChromeTrace(Trace):
    """As Trace, written as JSON: an object with `traceEvents`, one event a line."""

    _places: dict[int, str] = field(default_factory=dict)
    """By number of a track: its process and thread, as they are in each of its events."""
    _pids: dict[int, int] = field(default_factory=dict)
    _named: list[str] = field(default_factory=lambda: [""])
    _begun: int = 0
    """Flows are numbered as they begin: those up to this one have."""

    def begin(self, monotonic_ns: int | None, wall_ns: int | None) -> None:
        """The head; times are CLOCK_MONOTONIC, an instant of which is next to them if it is known."""
        other = {"clock": "CLOCK_MONOTONIC", "monotonic_ns": monotonic_ns, "wall_ns": wall_ns}
        head = f'{{"displayTimeUnit":"ns","otherData":{json_text(other)},"traceEvents":[\n'
        self.out.write(head.encode())
        self._emit([_meta("process_name", _FIRST_OWN, 0, "iowhy")], first=True)

    def track(
        self,
        key: Hashable,
        name: str,
        parent: int = 0,
        more: bytes = b"",  # noqa: ARG002
    ) -> int:
        """The number of a track: a row of the process of its parent, or its own process."""
        known = self._tracks.get(key)
        if known is None:
            known = self._tracks[key] = len(self._tracks) + 1
            own = _FIRST_OWN + known
            pid = self._pids[known] = self._pids[parent] if parent else own
            self._places[known] = f'"pid":{pid},"tid":{own}'
            said = [] if parent else [_meta("process_name", pid, own, name)]
            self._emit([*said, _meta("thread_name", pid, own, name)])
        return known

    def process(self, pid: int, name: str) -> int:
        """The track of a process."""
        return self._real(("process", pid), pid, pid, "process_name", name)

    def thread(self, pid: int, tid: int, name: str) -> int:
        """The track of a thread, which is below its process."""
        return self._real(("thread", pid, tid), pid, tid, "thread_name", name)

    def _real(self, key: Hashable, pid: int, tid: int, kind: str, name: str) -> int:
        known = self._tracks.get(key)
        if known is None:
            known = self._tracks[key] = len(self._tracks) + 1
            self._pids[known] = pid
            self._places[known] = f'"pid":{pid},"tid":{tid}'
            self._emit([_meta(kind, pid, tid, name)])
        return known

    def counter(self, name: str, unit: str) -> int:
        """The track of a number over time: a counter of the process "iowhy"."""
        known = self._tracks.get(("counter", name))
        if known is None:
            known = self._tracks["counter", name] = len(self._tracks) + 1
            told = f'"ph":"C","pid":{_FIRST_OWN},"tid":0,"name":{json_text(name)}'
            self._places[known] = f"{told},{json_text(unit)}"
        return known

    def write(self, events: Events) -> None:
        """Events, a line each, and a line for each flow that begins, goes on or ends there."""
        if not len(events.begins):
            return
        begins = _micros(events.begins)
        lasting = (
            None
            if events.ends is None
            else _micros((events.ends - events.begins).astype(np.uint64))
        )
        notes = self._notes_of(events)
        lines = []
        for at, (track, begin, name) in enumerate(
            zip(events.tracks.tolist(), begins, events.names.tolist(), strict=True)
        ):
            kind = '"ph":"i","s":"t"' if lasting is None else f'"ph":"X","dur":{lasting[at]}'
            args = f',"args":{{{notes[at]}}}' if notes[at] else ""
            lines.append(
                f'{{{kind},{self._places[track]},"ts":{begin},"name":{self._named[name]}{args}}}'
            )
        self._emit(lines)
        for flows, ending in ((events.flows, False), (events.ending, True)):
            if flows is not None:
                self._flow(events, begins, flows, ending)

    def _flow(self, events: Events, begins: list[str], flows: Numbers, ending: bool) -> None:
        """Arrows: the end of one is at the slice that surrounds its moment (`bp` e)."""
        at = np.flatnonzero(flows)
        lines = []
        for place, track, number in zip(
            at.tolist(), events.tracks[at].tolist(), flows[at].tolist(), strict=True
        ):
            kind = '"f","bp":"e"' if ending else '"t"' if number <= self._begun else '"s"'
            lines.append(
                f'{{"ph":{kind},{self._places[track]},"ts":{begins[place]},"id":{number},"cat":"request","name":"request"}}'
            )
        if not ending and len(at):
            self._begun = max(self._begun, int(flows.max()))
        self._emit(lines)

    def write_counter(self, tracks: Numbers, times: Numbers, values: Any) -> None:
        """Values of counters."""
        lines = []
        for track, at, value in zip(
            tracks.tolist(), _micros(times), np.asarray(filled(values)).tolist(), strict=True
        ):
            told, _, unit = self._places[track].rpartition(",")
            if value - value == 0:  # JSON knows no infinity
                lines.append(f'{{{told},"ts":{at},"args":{{{unit}:{value!r}}}}}')
        self._emit(lines)

    def close(self) -> None:
        """Writes what is left."""
        self._flush()
        self.out.write(b"\n]}\n")

    def _notes_of(self, events: Events) -> list[str]:
        """What is next to each event, as the members of an object."""
        parts = [""] * len(events.begins)
        for note in events.notes:
            for at, text in self._told(note):
                parts[at] += f",{text}" if parts[at] else text
        return parts

    def _told(self, note: Note) -> Iterator[tuple[int, str]]:
        at = np.flatnonzero(note.there)
        key = json_text(note.name)
        for place, value in zip(at.tolist(), note.values[at].view(np.int64).tolist(), strict=True):
            yield place, f"{key}:{self._named[value] if note.text else value}"

    def _text(self, kind: int, text: str) -> int:
        known = self._texts.get((kind, text))
        if known is None:
            known = self._texts[kind, text] = len(self._named)
            self._named.append(json_text(text))
        return known

    def _emit(self, lines: list[str], first: bool = False) -> None:
        if lines:
            told = ("" if first else ",\n") + ",\n".join(lines)
            self._pending.append(told.encode("utf-8", "replace"))
            self._pending_bytes += len(self._pending[-1])
        if self._pending_bytes >= _CHUNK_BYTES:
            self._flush()

    def _flush(self) -> None:
        self.out.write(b"".join(self._pending))
        self._pending.clear()
        self._pending_bytes = 0


def _meta(kind: str, pid: int, tid: int, name: str) -> str:
    return (
        f'{{"ph":"M","name":"{kind}","pid":{pid},"tid":{tid},"args":{{"name":{json_text(name)}}}}}'
    )


def _micros(times: Numbers) -> list[str]:
    """Nanoseconds as microseconds, exactly."""
    whole, rest = np.divmod(times, np.uint64(1000))
    return [f"{a}.{b:03}" for a, b in zip(whole.tolist(), rest.tolist(), strict=True)]
