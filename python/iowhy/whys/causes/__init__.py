"""One module per cause. A new cause is a new file here: nothing lists them."""

from functools import cache

from iowhy.package_files import modules_of
from iowhy.whys.cause import Cause


@cache
def causes() -> tuple[Cause, ...]:
    """Every cause, by name."""
    found = []
    for module in modules_of(__name__):
        cause = getattr(module, "CAUSE", None)
        if isinstance(cause, Cause):
            found.append(cause)
    return tuple(sorted(found, key=lambda cause: cause.name))


def cause_named(name: str | None) -> Cause | None:
    """The cause of that name; None if there is none (another version's, or no name)."""
    return next((one for one in causes() if one.name == name), None)


@cache
def rivals_need(cause: str) -> tuple[str, ...]:
    """The sensors without which none is found that would explain what this cause does: time, and what those need that beat it."""
    rivals = (one for one in causes() if cause in one.beats)
    return ("thread_time", *(sensor for one in rivals for sensor in one.unseen_without))
