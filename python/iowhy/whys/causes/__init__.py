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
