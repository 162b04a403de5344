"""Where no file has most of the time in reads, the files of one kind that do are named by a pattern."""

from pathlib import Path

import pytest

from iowhy.whys.facts import facts_of
from iowhy.whys.facts.file_sets import FileSet, read_most

from .made import MS, Story

_PICTURES = [f"/data/train/{at % 3}/{at}.jpg" for at in range(30)]


@pytest.mark.parametrize(
    ("paths", "found"),
    [
        (_PICTURES, FileSet("/data/train/*/*.jpg", 30, 1.0)),
        (_PICTURES + ["/data/labels.csv"] * 2, FileSet("/data/train/*/*.jpg", 30, 30 / 31)),
        (_PICTURES[:19], None),
        ([f"/data/{at}" for at in range(40)], FileSet("/data/*", 40, 1.0)),
    ],
)
def test_the_files_of_one_kind(paths: list[str], found: FileSet | None, tmp_path: Path) -> None:
    story = Story(2.0)
    for ino, path in enumerate(sorted(set(paths)), 300):
        story.file(ino, path).requests(1, ino=ino, service=MS)
    with facts_of(story.made(tmp_path)) as facts:
        said = read_most(facts.relations)
    if found is None:
        assert said is None
    else:
        assert said is not None and (said.pattern, said.files) == (found.pattern, found.files)
        assert said.share == pytest.approx(found.share)
