"""Rates of writing files of one size, as benchmarks print them (iozone)."""

from msgspec import Struct

from iowhy.whys.facts.measured import Measured

#: Tests that write: "write 16384", "initial writer 4 x 16384".
_WRITING = frozenset({"write", "initial"})


class SizedWrite(Struct, frozen=True):
    """What one test of a benchmark reached: files of `file_kib`, by the name that it is printed under."""

    name: str
    file_kib: int
    bytes_per_s: float


def sized_writes(measured: Measured) -> dict[str, list[SizedWrite]]:
    """The tests of each run, which is behind the subjects in brackets if there are several ("" else)."""
    runs: dict[str, list[SizedWrite]] = {}
    for subject, value in measured.metric("bytes_per_s").items():
        test, _, run = subject.partition(" [")
        length = _file_size(test)
        if test.split(" ")[0] in _WRITING and value > 0 and length is not None:
            runs.setdefault(run.rstrip("]"), []).append(SizedWrite(test, length, value))
    return runs


def _file_size(test: str) -> int | None:
    """The file size in a test's name: "write 16384", "initial writer 4 x 16384", "… in 64" (the record)."""
    numbers = [word for word in test.split(" in ")[0].split() if word.isdigit()]
    return int(numbers[-1]) if numbers else None
