"""Which part of a recording a report is of."""

from typing import Any

from iowhy.options.keywords import from_keywords
from iowhy.options.report import Part
from iowhy.reports import Filters


def filters_of(**given: Any) -> Filters:
    """The part of a recording that keywords choose (`since=`, `pid=`). Raises Problem."""
    return filters(from_keywords(Part, "report", {}, given))


def filters(part: Part) -> Filters:
    """The part of a recording that options choose."""
    return Filters(part.since, part.until, part.pids, part.file, part.container, part.device)
