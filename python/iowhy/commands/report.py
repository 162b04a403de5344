"""Which part of a recording a report is of."""

from typing import Any

from iowhy.options.keywords import from_keywords
from iowhy.options.report import Part
from iowhy.recordings import Recording
from iowhy.reports import Filters


def filters_of(**given: Any) -> Filters:
    """The part of a recording that keywords choose (`since=`, `pid=`). Raises Problem."""
    return filters(from_keywords(Part, "report", {}, given))


def filters(part: Part) -> Filters:
    """The part of a recording that options choose."""
    return Filters(part.since, part.until, part.pids, part.file, part.container, part.device)


def leading_causes(recording: Recording) -> list[str | None]:
    """The leading cause of each phase; to judge them is imported only where a report has phases."""
    from iowhy.commands.overview import cause_of_each_phase

    return cause_of_each_phase(recording)
