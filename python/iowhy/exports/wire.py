"""Messages in protobuf's wire format, a hundred thousand at a time.

A message is a matrix of bytes, one row per message, with a mask of those that are there: fields are put side by side, and
what the mask leaves is the encoding (https://protobuf.dev/programming-guides/encoding). To make an object for each event
would take a hundred times as long.
"""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Numbers: TypeAlias = NDArray[np.uint64]
Mask: TypeAlias = NDArray[np.bool_]

_VARINT, _FIXED64, _BYTES = 0, 1, 2


class Messages:
    """As many messages as there are rows; each call adds a field to those where `present` says so."""

    def __init__(self, rows: int) -> None:
        self.rows = rows
        self._bytes: list[NDArray[np.uint8]] = []
        self._there: list[Mask] = []

    def varint(self, field: int, values: Numbers | int, present: Mask | None = None) -> None:
        """A whole number; of a signed one, its 64 bits."""
        self._add(field, _VARINT, *_varints(self._each(values)), present)

    def fixed64(self, field: int, values: Numbers, present: Mask | None = None) -> None:
        """A number of eight bytes; of a double, its bits."""
        data = values.astype("<u8").view(np.uint8).reshape(self.rows, 8)
        self._add(field, _FIXED64, data, np.ones((self.rows, 8), bool), present)

    def message(self, field: int, inner: "Messages", present: Mask | None = None) -> None:
        """A message in each."""
        there = np.hstack(inner._there)
        lengths = there.sum(axis=1).astype(np.uint64)
        length, length_there = _varints(lengths)
        data = np.hstack([length, *inner._bytes])
        self._add(field, _BYTES, data, np.hstack([length_there, there]), present)

    def encoded(self) -> bytes:
        """All of them, one after another."""
        if not self.rows:
            return b""
        return np.hstack(self._bytes)[np.hstack(self._there)].tobytes()

    def _each(self, values: Numbers | int) -> Numbers:
        if isinstance(values, int):
            return np.full(self.rows, values, np.uint64)
        return values

    def _add(
        self, field: int, kind: int, data: NDArray[np.uint8], there: Mask, present: Mask | None
    ) -> None:
        tag = np.frombuffer(varint(field << 3 | kind), np.uint8)
        whole = np.hstack([np.broadcast_to(tag, (self.rows, len(tag))), data])
        mask = np.hstack([np.ones((self.rows, len(tag)), bool), there])
        self._bytes.append(whole)
        self._there.append(mask if present is None else mask & present[:, None])


def _varints(values: Numbers) -> tuple[NDArray[np.uint8], Mask]:
    """Seven bits a byte, the lowest first; all but the last have the highest bit set."""
    most = int(values.max()) if len(values) else 0
    width = max(1, (most.bit_length() + 6) // 7)
    parts = values[:, None] >> (np.arange(width, dtype=np.uint64) * np.uint64(7))
    there = parts != 0
    there[:, 0] = True
    data = (parts & np.uint64(0x7F)).astype(np.uint8)
    data[:, :-1][there[:, 1:]] |= 0x80
    return data, there


def varint(value: int) -> bytes:
    """One whole number, not negative."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field: int, value: int) -> bytes:
    """A field of a single message."""
    return varint(field << 3 | _VARINT) + varint(value)


def data(field: int, value: bytes | str) -> bytes:
    """A text, bytes or message in a single message."""
    raw = value.encode("utf-8", "replace") if isinstance(value, str) else value
    return varint(field << 3 | _BYTES) + varint(len(raw)) + raw
