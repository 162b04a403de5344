"""Whose user stacks `iowhy run` asks the recorder for, by what is recorded."""

import pytest

from iowhy.commands.record import request_of
from iowhy.options.described import build
from iowhy.options.record import Options, check


@pytest.mark.parametrize(
    ("given", "taken"),
    [
        ({"argv": ("true",)}, True),
        ({"pids": (1,)}, True),
        ({"containers": ("web",)}, True),
        ({"argv": ("true",), "no_stacks": True}, False),
        # Of all programs of a machine only where it is asked for.
        ({"all_": True}, False),
        ({"all_": True, "stacks": True}, True),
        # /proc has none; who asks all the same is told so.
        ({"argv": ("true",), "mode": "proc"}, False),
        ({"argv": ("true",), "mode": "proc", "stacks": True}, True),
    ],
)
def test_stacks_are_taken_unless_it_is_of_the_whole_machine(
    given: dict[str, object], taken: bool
) -> None:
    options = build(Options, given)
    check(options)
    assert request_of(options).stacks is taken
