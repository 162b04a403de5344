"""Causes one by one: what a story is not, is asked of that cause alone."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from iowhy.whys.facts import facts_of

from ..conftest import Judged
from ..made import Story


@pytest.fixture
def judged(tmp_path: Path) -> Iterator[Callable[[Story], Judged]]:
    """Makes a story a recording, which is judged when its verdict is looked at."""
    number = iter(range(100))
    with ExitStack() as opened:

        def judge_story(story: Story) -> Judged:
            recording = story.made(tmp_path / f"{next(number)}.iowhy")
            return Judged(recording, opened.enter_context(facts_of(recording)))

        yield judge_story
