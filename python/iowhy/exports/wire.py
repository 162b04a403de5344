"""Messages in protobuf's wire format, a hundred thousand at a time.

A message is a column of a matrix of bytes, with a mask of those that are there: fields are put below each other, and
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
    """As many messages as there are rows; each call adds a field to those where `present` says so.

    A byte of all messages is a row of its matrix, so that numpy works along many of them at once; they are put one
    after another at the very end.
    """

    def __init__(self, rows: int) -> None:
        self.rows = rows
        self._bytes: list[NDArray[np.uint8]] = []
        self._there: list[Mask] = []

    def varint(self, field: int, values: Numbers | int, present: Mask | None = None) -> None:
        """A whole number; of a signed one, its 64 bits."""
        self._tag(field, _VARINT, present)
        if isinstance(values, int):
            self._constant(varint(values), present)
        else:
            self._put(*_varints(values), present)

    def fixed64(self, field: int, values: Numbers, present: Mask | None = None) -> None:
        """A number of eight bytes; of a double, its bits."""
        self._tag(field, _FIXED64, present)
        data = np.ascontiguousarray(values.astype("<u8").view(np.uint8).reshape(self.rows, 8).T)
        self._put(data, np.ones((8, self.rows), bool), present)

    def message(self, field: int, inner: "Messages", present: Mask | None = None) -> None:
        """A message in each."""
        self._tag(field, _BYTES, present)
        lengths = np.zeros(self.rows, np.uint64)
        for there in inner._there:
            lengths += there.sum(axis=0, dtype=np.uint64)
        self._put(*_varints(lengths), present)
        for data, there in zip(inner._bytes, inner._there, strict=True):
            self._put(data, there, present)

    def encoded(self) -> bytes:
        """All of them, one after another."""
        if not self.rows:
            return b""
        data, there = np.concatenate(self._bytes), np.concatenate(self._there)
        return np.ascontiguousarray(data.T)[np.ascontiguousarray(there.T)].tobytes()

    def _tag(self, field: int, kind: int, present: Mask | None) -> None:
        self._constant(varint(field << 3 | kind), present)

    def _constant(self, value: bytes, present: Mask | None) -> None:
        data = np.frombuffer(value, np.uint8)[:, None]
        shape = (len(value), self.rows)
        self._put(np.broadcast_to(data, shape), np.ones(shape, bool), present)

    def _put(self, data: NDArray[np.uint8], there: Mask, present: Mask | None) -> None:
        self._bytes.append(data)
        self._there.append(there if present is None else there & present)


def _varints(values: Numbers) -> tuple[NDArray[np.uint8], Mask]:
    """Seven bits a byte, the lowest first; all but the last have the highest bit set."""
    most = int(values.max()) if len(values) else 0
    width = max(1, (most.bit_length() + 6) // 7)
    data = np.empty((width, len(values)), np.uint8)
    there = np.ones((width, len(values)), bool)
    rest = values
    for at in range(width):
        if at:
            there[at] = rest != 0
            data[at - 1] |= there[at].view(np.uint8) << 7
        data[at] = rest.astype(np.uint8) & 0x7F
        rest = rest >> np.uint64(7)
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
