"""Calls that take most of the time of all calls in a text, where no cause explains it: a few lines that grep took out of a log."""

from collections.abc import Iterator

from iowhy.sentences import worded
from iowhy.whys import classes
from iowhy.whys.chain import link
from iowhy.whys.facts import Facts
from iowhy.whys.stated_fact import TELLING, Statement

#: Of the time of all calls: then they are what the text is about.
MOST = 0.5
_ABOUT_DATA = classes.SYNC_CALLS | classes.DATA_READS | classes.DATA_WRITES


def state(facts: Facts) -> Iterator[Statement]:
    """How long a call takes, of those that read, write or sync."""
    found = facts.calls.by_name
    name = max(found, key=lambda one: found[one].total_ns, default=None)
    total = sum(one.total_ns for one in found.values())
    if name not in _ABOUT_DATA or found[name].total_ns < MOST * total:
        return
    group = found[name]
    if not group.mean_ns:
        return
    if (group.cpu_ns or 0.0) >= group.total_ns:  # a table of CPU time
        said = worded(
            "calls-compute",
            "{calls:count " + name + " call}; these times are CPU time, without the waiting",
            calls=group.calls,
        )
        yield Statement(TELLING - 0.1, link(said, group.calls, "calls", "syscalls"))
        return
    said = worded(
        "calls-take",
        "{calls:count " + name + " call} took {mean:ns}" + (" each" if group.calls > 1 else ""),
        calls=group.calls,
        mean=group.mean_ns,
    )
    yield Statement(TELLING + 0.02, link(said, group.mean_ns, "ns", "syscalls"))
