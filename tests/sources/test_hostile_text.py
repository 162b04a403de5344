"""Text from anybody: NULs, half lines, long lines, many lines, names that look like paths."""

import random
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from iowhy.errors import Problem
from iowhy.sources.diagnose import diagnose
from iowhy.sources.format import REJECTS_KEPT, Block
from iowhy.sources.formats import formats
from iowhy.sources.intervals import Interval, Intervals
from iowhy.sources.names import Names
from iowhy.sources.paste import PASTE_MAX_BYTES, STUMBLED, decode, split
from tests.examples import TIMES, costly
from tests.problems import wrong

from .reading import FIXTURES, taken_apart

TEXTS = sorted(path for path in FIXTURES.glob("*.*") if path.suffix in {".txt", ".json"})


#: Of each text; `make fuzz` damages them for as long as one likes.
SEEDS = TIMES


def damaged(text: str, seed: int) -> str:
    """The text with characters, lines and numbers lost, doubled, cut or replaced."""
    rng = random.Random(seed)
    lines = text.split("\n")
    for _ in range(1 + len(lines) // 8):
        at = rng.randrange(len(lines))
        kind = rng.randrange(7)
        line = lines[at]
        if kind == 0:
            lines[at] = line[: rng.randrange(len(line) + 1)]
        elif kind == 1:
            lines[at] = line.replace(" ", "\0", 2)
        elif kind == 2:
            lines.insert(at, lines[rng.randrange(len(lines))])
        elif kind == 3:
            lines[at] = line.replace("1", "9" * rng.choice([1, 30, 400]), 1)
        elif kind == 4:
            lines[at] = line + "../../etc/passwd;$(x)" * 3
        elif kind == 5:
            lines[at] = line.replace("0", "-", 1)
        else:
            del lines[at]
            lines = lines or [""]
    return "\n".join(lines)


@pytest.mark.more
@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)
def test_damage_ends_in_a_recording_or_one_message(path: Path, tmp_path: Path) -> None:
    text = path.read_text()
    for seed in range(SEEDS):
        bad = tmp_path / f"{seed}.txt"
        bad.write_text(damaged(text, seed))
        try:
            found = diagnose([str(bad)], tmp_path / f"{seed}.iowhy")
        except Problem:
            continue
        # What was written can be read, by whoever reads it.
        with found.recording.opened() as opened:
            opened.need(found.recording.manifest.tables)
            for table in found.recording.manifest.tables:
                opened.connection.execute(f"SELECT * FROM {table}").fetchall()


@costly(10)
@given(st.binary(max_size=400), st.sampled_from(TEXTS), st.integers(0, 2000))
def test_garbage_inside_is_never_an_exception(junk: bytes, path: Path, where: int) -> None:
    data = path.read_bytes()
    data = data[:where] + junk + data[where:]
    lines = decode(data, "x")
    result = split(lines, "x", Names())
    # Every line is understood or listed, or is of a block that one format took as a whole.
    for part in result.parts:
        assert part.parsed.lines_understood <= part.lines
        assert not any(STUMBLED in note for note in part.parsed.notes), part.parsed.notes
        assert all(
            part.first_line <= number < part.first_line + part.lines
            for number, _ in part.parsed.rejects
        )


@costly(10)
@given(st.text(max_size=300))
@example("|")
def test_every_format_reads_any_text(text: str) -> None:
    lines = decode(text.encode("utf-8", "surrogatepass"), "x")
    for form in formats():
        # Those that stream take a database each: their own tests damage them.
        if form.read is not None and form.stream is None and lines:
            form.read(Block(lines, 1, "x", Names(), None))


def test_many_lines_are_listed_up_to_a_limit() -> None:
    text = "      total  used  free\nMem:  8000000  4000000  4000000\n" + "nonsense\n" * 20_000
    (part,) = taken_apart(text).parts
    assert len(part.parsed.rejects) == REJECTS_KEPT
    assert len(part.parsed.rejects) + part.parsed.rejects_dropped == 20_000


def test_many_samples() -> None:
    head, row = (
        " r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st\n",
        " 1  2      0   1000     10    500    0    0     8    16  100  200 10  5 80  5  0\n",
    )
    (part,) = taken_apart((head + row * 20) * 500).parts
    assert len(part.parsed.intervals) == 2 * (500 * 20 - 1)
    assert part.parsed.rejects == []


def test_many_samples_take_little_memory() -> None:
    kept = Intervals()
    tracemalloc.start()
    try:
        for second in range(20_000):
            counters = {"user_ns": second * 0.1, "idle_ns": 2.5, "system_ns": 3.5}
            levels = {"procs_running": 1, "procs_blocked": None}
            kept.append(Interval("cpu_samples", {"cpu": -1}, second, 1, counters, levels))
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < 3 * 2**20, f"{held >> 20} MiB"
    assert kept[19_999].counters["user_ns"] == pytest.approx(1999.9)
    assert kept[5].levels == {"procs_running": 1, "procs_blocked": None}
    assert [one.start_ns for one in kept[1:3]] == [1, 2] and len(kept) == 20_000


@pytest.mark.parametrize(
    "line",
    [
        "Device: " + "r/s " * 100_000,
        "a" * 3_000_000,
        "[" * 100_000,
        '{ "fio version" : ' + "[" * 100_000,
        "1 " * 1_000_000,
        "\x1b[" * 200_000,
        "$ " + "'" * 1900,
        "user@host:" + "~" * 100_000 + "$ x",
        "\r" * 100_000 + "procs",
    ],
    ids=lambda line: line[:12].encode("unicode_escape").decode(),
)
def test_long_lines(line: str) -> None:
    text = f"{line}\n{line}\nprocs -----------memory----------\n{line}\n"
    result = taken_apart(text)
    assert all(len(text) <= 200 for _, text in result.unread)


def test_too_large_for_a_paste(tmp_path: Path) -> None:
    big = tmp_path / "big.txt"
    with big.open("wb") as file:
        file.write(b"prose\n" * 100_000)
        file.truncate(PASTE_MAX_BYTES + 1)
    with wrong("log-too-large", path=big):
        diagnose([str(big)], tmp_path / "x.iowhy")


def test_compressed_text_names_the_way_out(tmp_path: Path) -> None:
    file = tmp_path / "x.txt"
    file.write_bytes(b"\x1f\x8b\x08\0" + bytes(20))
    with wrong("log-compressed", path=file):
        diagnose([str(file)], tmp_path / "x.iowhy")


def test_a_name_that_is_no_path_to_follow(tmp_path: Path) -> None:
    """Names of files and processes are data: nothing is opened or made by them."""
    text = (FIXTURES / "case1-sparse.fileplace.txt").read_text()
    file = tmp_path / "x.txt"
    file.write_text(text.replace("data001.dat", "../../../../tmp/iowhy-owned\\x1b[2J"))
    found = diagnose([str(file)], tmp_path / "out" / "x.iowhy")
    subjects = (
        found.recording.connection().execute("SELECT DISTINCT subject FROM measurements").fetchall()
    )
    assert subjects == [("../../../../tmp/iowhy-owned\\x1b[2J",)]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "x.txt"]
