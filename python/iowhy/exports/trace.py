"""A trace file of Perfetto's: tracks, texts that are written once, and packets by the batch.

Numbers of fields are those of protos/perfetto/trace (trace_packet.proto, track_event/*.proto, interned_data.proto) of
Perfetto 59. Packets are deflated in packets (`compressed_packets`), which its trace processor and UI read as they are.
"""

import zlib
from collections.abc import Hashable, Sequence
from typing import IO, Any

import numpy as np
from msgspec import Struct, field

from iowhy.exports import wire
from iowhy.exports.wire import Mask, Messages, Numbers
from iowhy.reports.columns import filled, known

_SEQUENCE = 1
_CLEARED, _NEEDED = 1, 2  # SEQ_INCREMENTAL_STATE_CLEARED, SEQ_NEEDS_INCREMENTAL_STATE
_REALTIME, _MONOTONIC = 1, 3  # BuiltinClock
_BEGIN, _END, _INSTANT, _COUNTER = 1, 2, 3, 4  # TrackEvent.Type
_NAMES, _NOTES, _TEXTS = 2, 3, 29  # fields of InternedData
_CHUNK_BYTES = 1 << 20
_LEVEL = 3  # of zlib: a third of its usual time, for a tenth more bytes


class Note(Struct, frozen=True):
    """What is next to events: numbers, or numbers of texts; `there` if it is known."""

    name: str
    values: Numbers
    there: Mask
    text: bool = False


class Events(Struct, frozen=True):
    """Events by their tracks, begins and names (numbers of texts); without ends they are instants.

    Slices of one track must not overlap. A flow leads on from an event (`flows`) or ends there (`ending`), if it is not 0.
    """

    tracks: Numbers
    begins: Numbers
    names: Numbers
    ends: Numbers | None = None
    notes: Sequence[Note] = ()
    flows: Numbers | None = None
    ending: Numbers | None = None


class Trace(Struct):
    """A trace that is written to `out` as it grows; `close` writes what is left."""

    out: IO[bytes]
    _pending: list[bytes] = field(default_factory=list)
    _pending_bytes: int = 0
    _texts: dict[tuple[int, str], int] = field(default_factory=dict)
    _fresh: dict[int, list[bytes]] = field(default_factory=dict)
    _tracks: dict[Hashable, int] = field(default_factory=dict)

    def begin(self, monotonic_ns: int | None, wall_ns: int | None) -> None:
        """What the times mean: CLOCK_MONOTONIC, and one instant of it on the wall clock if that is known."""
        defaults = wire.data(59, wire.number(58, _MONOTONIC))
        self._packet(wire.number(87, 1) + wire.number(13, _CLEARED) + defaults)
        if monotonic_ns is None or wall_ns is None or min(monotonic_ns, wall_ns) < 0:
            return
        clocks = [(_MONOTONIC, monotonic_ns), (_REALTIME, wall_ns)]
        told = b"".join(wire.data(1, wire.number(1, c) + wire.number(2, ns)) for c, ns in clocks)
        self._packet(wire.data(6, told + wire.number(2, _MONOTONIC)))

    def track(self, key: Hashable, name: str, parent: int = 0, more: bytes = b"") -> int:
        """The number of a track, which is described when it is first asked for."""
        known = self._tracks.get(key)
        if known is None:
            known = self._tracks[key] = len(self._tracks) + 1
            above = wire.number(5, parent) if parent else b""
            named = wire.data(2, name) if name else b""
            self._packet(wire.data(60, wire.number(1, known) + above + named + more))
        return known

    def process(self, pid: int, name: str) -> int:
        """The track of a process."""
        told = wire.number(1, _id(pid)) + wire.data(6, name)
        return self.track(("process", pid), "", more=wire.data(3, told))

    def thread(self, pid: int, tid: int, name: str) -> int:
        """The track of a thread, which is below its process."""
        told = wire.number(1, _id(pid)) + wire.number(2, _id(tid)) + wire.data(5, name)
        return self.track(("thread", pid, tid), "", more=wire.data(4, told))

    def counter(self, name: str, unit: str) -> int:
        """The track of a number over time."""
        return self.track(("counter", name), name, more=wire.data(8, wire.data(6, unit)))

    def name(self, text: str) -> int:
        """The number of an event's name."""
        return self._text(_NAMES, text)

    def names(self, column: Any) -> Numbers:
        """The numbers of a column of names."""
        return self._column(_NAMES, column)[0]

    def number_note(self, name: str, column: Any) -> Note:
        """A column of whole numbers next to events."""
        there = known(column)
        values = np.asarray(filled(column)).astype(np.int64).view(np.uint64)
        return Note(name, values, there)

    def text_note(self, name: str, column: Any) -> Note:
        """A column of texts next to events."""
        values, there = self._column(_TEXTS, column)
        return Note(name, values, there, text=True)

    def write(self, events: Events) -> None:
        """Events, of which slices become a begin and an end."""
        count = len(events.begins)
        if not count:
            return
        event = Messages(count)
        event.varint(9, _INSTANT if events.ends is None else _BEGIN)
        event.varint(11, events.tracks)
        event.varint(10, events.names)
        for number, flows in ((47, events.flows), (48, events.ending)):
            if flows is not None:
                event.fixed64(number, flows, flows != 0)
        for note in events.notes:
            inner = Messages(count)
            inner.varint(1, self._text(_NOTES, note.name))
            inner.varint(17 if note.text else 4, note.values)
            event.message(4, inner, note.there)
        packets = [_packet(events.begins, event)]
        if events.ends is not None:
            end = Messages(count)
            end.varint(9, _END)
            end.varint(11, events.tracks)
            packets.append(_packet(events.ends, end))
        self._write_packets(packets)

    def write_counter(self, tracks: Numbers, times: Numbers, values: Any) -> None:
        """Values of counters."""
        event = Messages(len(times))
        event.varint(9, _COUNTER)
        event.varint(11, tracks)
        event.fixed64(44, np.asarray(filled(values)).astype("<f8").view(np.uint64))
        self._write_packets([_packet(times, event)])

    def close(self) -> None:
        """Writes what is left."""
        self._say_texts()
        self._flush()

    def _write_packets(self, packets: Sequence[Messages]) -> None:
        """The first of each row, then the second, then those of the next row."""
        self._say_texts()
        whole = Messages(packets[0].rows)
        for packet in packets:
            whole.message(1, packet)
        self._add(whole.encoded())

    def _column(self, kind: int, column: Any) -> tuple[Numbers, Mask]:
        """The numbers of texts, 0 if there is none."""
        texts = filled(column, None).tolist()
        numbers = {
            text: 0 if text is None else self._text(kind, text) for text in dict.fromkeys(texts)
        }
        found = np.fromiter(map(numbers.__getitem__, texts), np.uint64, len(texts))
        return found, found != 0

    def _text(self, kind: int, text: str) -> int:
        known = self._texts.get((kind, text))
        if known is None:
            known = self._texts[kind, text] = len(self._texts) + 1
            self._fresh.setdefault(kind, []).append(wire.number(1, known) + wire.data(2, text))
        return known

    def _say_texts(self) -> None:
        """Before the events that use them."""
        if self._fresh:
            told = b"".join(
                wire.data(kind, one) for kind in sorted(self._fresh) for one in self._fresh[kind]
            )
            self._fresh.clear()
            self._packet(wire.number(13, _NEEDED) + wire.data(12, told))

    def _packet(self, packet: bytes) -> None:
        self._add(wire.data(1, wire.number(10, _SEQUENCE) + packet))

    def _add(self, packets: bytes) -> None:
        self._pending.append(packets)
        self._pending_bytes += len(packets)
        if self._pending_bytes >= _CHUNK_BYTES:
            self._flush()

    def _flush(self) -> None:
        if self._pending:
            packed = zlib.compress(b"".join(self._pending), _LEVEL)
            self.out.write(wire.data(1, wire.data(50, packed)))
            self._pending.clear()
            self._pending_bytes = 0


def _packet(times: Numbers, event: Messages) -> Messages:
    packet = Messages(event.rows)
    packet.varint(8, times)
    packet.varint(10, _SEQUENCE)
    packet.varint(13, _NEEDED)
    packet.message(11, event)
    return packet


def _id(number: int) -> int:
    """A process id as its field holds one; what a damaged recording has beyond that is cut."""
    return number & 0x7FFF_FFFF
