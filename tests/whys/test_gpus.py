"""What a verdict says of GPUs: only of those that the command uses, and how much of that time they wait."""

import pytest

from iowhy.sentences import Sentence
from tests.numbers_told import tells

from .conftest import Judge, sentence
from .made import MS, START, Story


def sampled(*gpus: tuple[int, int | None, float], mode: str = "run") -> Story:
    """2 s of a reader; readings of a GPU, the process that has it, and how much it computes."""
    story = Story(2.0, mode=mode).caller("read", 180, blocked=10 * MS)
    for number, tgid, busy in gpus:
        for at in range(10):
            story.add(
                "gpu_samples", ts_ns=START + (at + 1) * 200 * MS, interval_ns=200 * MS, gpu=number,
                name="H200", tgid=tgid, busy_share=busy,
            )  # fmt: skip
    return story


def said(judged: Judge, story: Story) -> Sentence | None:
    notes = [sentence(one) for one in judged(story).notes if isinstance(one, Sentence)]
    return next((one for one in notes if one.id == "gpu-idle"), None)


def test_what_the_command_s_waits(judged: Judge) -> None:
    note = said(judged, sampled((0, 10, 0.38)))
    assert note is not None and note.values["idle"] == pytest.approx(0.62)
    assert tells(note, "62 %", "2 s") and "GPU (H200)" in note


def test_of_several_the_one_that_waits_most(judged: Judge) -> None:
    note = said(judged, sampled((0, 10, 0.9), (1, 10, 0.25), (2, 99, 0.0)))
    assert note is not None and "GPU 1" in note and tells(note, "75 %")


def test_a_reading_with_several_processes_counts_once(judged: Judge) -> None:
    note = said(judged, sampled((0, 10, 0.5), (0, 77, 0.5)))
    assert note is not None and tells(note, "50 %", "2 s")


@pytest.mark.parametrize("gpus", [[], [(0, 99, 0.38)], [(0, None, 0.0)]])
def test_nothing_of_others(judged: Judge, gpus: list[tuple[int, int | None, float]]) -> None:
    assert said(judged, sampled(*gpus)) is None
