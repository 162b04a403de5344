"""A part that cannot be read costs no other part: each format broken in turn, in a paste of three."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from iowhy.sources import paste
from iowhy.sources.diagnose import diagnose
from iowhy.sources.format import Block, Format, Parsed
from iowhy.sources.formats import formats
from iowhy.sources.names import Names
from iowhy.whys.verdict import judge

from .reading import FIXTURES, one_of_each

FREE = (FIXTURES / "pagecache-large.free.txt").read_text()
VMSTAT = (FIXTURES / "vmstat-4-t-megabytes.txt").read_text()
TEXTS = one_of_each(costly=True)


def of_numbers(change: Callable[[str], str]) -> Callable[[str], str]:
    return lambda text: re.sub(r"\d+", lambda match: change(match[0]), text)


BREAKS: dict[str, Callable[[str], str]] = {
    "thousands": of_numbers(lambda digits: f"{int(digits):,}"),
    "giant": of_numbers(lambda digits: digits + "9" * 20),
    "large": of_numbers(lambda digits: digits + "9" * 12),
    "negative": lambda text: re.sub(r"(?<=\s)(?=\d)", "-", text),
    "zero": lambda text: re.sub(r"\d+", "0", text),
    "headers alone": lambda text: (text.split("\n")[0] + "\n") * 100,
    "cut in a line": lambda text: text[: len(text) * 2 // 3],
    "two lines": lambda text: "\n".join(text.split("\n")[:2]) + "\n",
    "three lines": lambda text: "\n".join(text.split("\n")[:3]) + "\n",
}


PROMPT = "$ cat next\n"


def neighbours(parts: Sequence[paste.Part], text: str) -> None:
    """The vmstat before and the free behind are whole."""
    assert (parts[0].format, parts[-1].format) == ("vmstat", "free")
    assert len(parts[0].parsed.intervals) == 2 * 2
    assert parts[-1].first_line == text.count("\n") - FREE.count("\n") + 1
    (row,) = parts[-1].parsed.tables["memory_samples"]
    assert row["cached_bytes"] == 48643 * 2**20


@pytest.mark.more
@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)
def test_a_broken_part_costs_no_other(path: Path, tmp_path: Path) -> None:
    whole = path.read_text()
    all_broken = VMSTAT
    for broken in BREAKS.values():
        bad = broken(whole).rstrip("\n") + "\n"
        text = VMSTAT + PROMPT + bad + PROMPT + FREE
        parts = paste.split(paste.decode(text.encode(), "x"), "x", Names()).parts
        neighbours(parts, text)
        assert not any(paste.STUMBLED in note for part in parts for note in part.parsed.notes)
        all_broken += PROMPT + bad
    all_broken += PROMPT + FREE
    file = tmp_path / "paste.txt"
    file.write_text(all_broken)
    found = diagnose([str(file)], tmp_path / "out.iowhy")
    neighbours(found.parts, all_broken)
    verdict = judge(found.recording)
    assert sum(line.elapsed_share for line in verdict.budget.lines) <= 1.000001


def test_a_reader_that_fails_costs_its_part_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(of: Format) -> Format:
        def read(block: Block) -> Parsed:
            raise RuntimeError(f"a mistake at line {block.first_line}")

        return replace(of, read=read) if of.name == "iostat" else of

    broken = tuple(failing(one) for one in formats())
    monkeypatch.setattr(paste, "formats", lambda: broken)
    bad = (FIXTURES / "iostat-12-x.txt").read_text()
    (tmp_path / "paste.txt").write_text(VMSTAT + bad + FREE)
    found = diagnose([str(tmp_path / "paste.txt")], tmp_path / "out.iowhy")
    assert [part.format for part in found.parts] == ["vmstat", "free"]
    assert any("not readable as iostat" in note for note in found.recording.manifest.notes)
    assert len(found.unread) >= bad.count("\n") // 2
