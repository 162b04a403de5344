"""Threads that hang in the kernel: as ps and top show them at one moment, or as the kernel's log reports them."""

from collections.abc import Iterator

from iowhy.sentences import worded
from iowhy.whys.chain import link
from iowhy.whys.facts import Facts
from iowhy.whys.stated_fact import Statement

#: How many are named.
NAMED = 3


def state(facts: Facts) -> Iterator[Statement]:
    """Those that hang longest by name; else those of a moment."""
    hung = facts.measured.metric("blocked_ns")
    if hung:
        longest = max(hung.values())
        names = sorted(hung, key=lambda name: -hung[name])
        said = worded(
            "task-hangs",
            "{task} has been blocked for {blocked:ns} (state D)"
            if len(hung) == 1
            else "{threads:count thread} have been blocked for up to {blocked:ns} (state D): {task}",
            task=", ".join(names[:NAMED]) + (" and others" if len(names) > NAMED else ""),
            threads=len(hung),
            blocked=longest,
        )
        yield Statement(0.95, link(said, longest, "ns", "measurements"))
    now = facts.measured.metric("in_state_d")
    if not hung and now:
        number = sum(now.values())
        named = ", ".join(list(now)[:NAMED]) + (" and others" if len(now) > NAMED else "")
        sleeps = "is" if number == 1 else "are"
        said = worded(
            "threads-in-d",
            "{threads:count thread} {sleeps} in uninterruptible sleep (D): {named}",
            threads=number,
            sleeps=sleeps,
            named=named,
        )
        yield Statement(0.65, link(said, number, "threads", "measurements"))
    for name in facts.measured.metric("in_kernel"):
        said = worded("thread-in-kernel", "{thread} at that moment", thread=name)
        yield Statement(0.5, link(said, 1, "threads", "measurements"))
