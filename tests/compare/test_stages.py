"""Which phases of two recordings belong together: by what was done in them, in order."""

import pytest

from iowhy.comparisons.stages import Done, Side, slowest, stages
from iowhy.sentences import worded
from iowhy.whys import classes
from iowhy.whys.phases import PhaseDone

READ, USER = classes.READ, classes.USER


def side(*phases: tuple[str, float, int]) -> Side:
    """Class, seconds and calls (of 4 KiB) of each; no calls: not known."""
    made, done, at = [], {}, 0.0
    for number, (cls, seconds, calls) in enumerate(phases, 1):
        does = worded("mostly-does", "{doing}", doing=cls)
        made.append(PhaseDone(number, at, at + seconds, does, cls, 1.0, None, None, None, None))
        at += seconds
        if calls:
            done[number] = Done(calls, calls * 4096)
    return made, done


BEFORE = side((READ, 3.3, 2800), (USER, 0.3, 470), (READ, 2.2, 12_700), (USER, 2.2, 1900))


@pytest.mark.parametrize(
    ("after", "numbers", "slower_s"),
    [
        # The second step reads slower; between the steps no phase is cut.
        (
            side((READ, 3.6, 2900), (READ, 20.4, 12_700), (USER, 2.1, 1900)),
            [(1, 1, 1), (3, 2, 2), (4, 3, 3)],
            18.2,
        ),
        # The device answers nobody in the midst of it: what is one phase before is three.
        (
            side((READ, 3.3, 2800), (USER, 0.3, 470), (READ, 1.1, 6100), (READ, 2.4, 0), (READ, 1.1, 6600), (USER, 2.2, 1900)),
            [(1, 1, 1), (2, 2, 2), (3, 3, 5), (4, 6, 6)],
            2.4,
        ),
    ],
    ids=["slower", "silent"],
)  # fmt: skip
def test_the_step_that_became_slower(
    after: Side, numbers: list[tuple[int, int, int]], slower_s: float
) -> None:
    found = stages(BEFORE, after)
    both = [one for one in found if one.before is not None and one.after is not None]
    assert [(one.before, one.after, one.after_last) for one in both] == numbers
    worst = slowest(found)
    assert worst is not None and worst.before == 3
    assert worst.slower_s == pytest.approx(slower_s, rel=0.03)
    # The other way round it is the same phases, and none is slower.
    back = stages(after, BEFORE)
    assert [(one.after, one.before, one.before_last) for one in back if one.before and one.after] == numbers  # fmt: skip
    assert slowest(back) is None


def test_each_phase_is_there_once() -> None:
    after = side((USER, 1.0, 0), (READ, 3.0, 900), (READ, 0.5, 0), (USER, 4.0, 1500))
    found = stages(BEFORE, after)
    for first, last, count in (("before", "before_last", 4), ("after", "after_last", 4)):
        spans = [(getattr(one, first), getattr(one, last)) for one in found if getattr(one, first)]
        assert [at for a, z in spans for at in range(a, z + 1)] == list(range(1, count + 1))
    assert stages(side((READ, 3.0, 300)), side((USER, 3.0, 300))) == ()
