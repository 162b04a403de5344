"""What `run` and `why` say of what is expected, and how they end by it."""

from typing import TYPE_CHECKING

from iowhy.cli._statuses import BROKEN, DONE, PROBLEM

if TYPE_CHECKING:  # slow to import
    from iowhy.commands.judge import Judged


def list_expected() -> None:
    """Prints the names that an expectation may have."""
    from iowhy.measures import measures
    from iowhy.views import expected_page
    from iowhy.views.terminal import console

    expected_page.show_measures(measures().values(), console())


def status_of(judged: "Judged") -> int:
    """The exit status for what became of it."""
    if not judged.outcomes:
        return PROBLEM if judged.errors else DONE
    if any(one.held is False for one in judged.outcomes):
        return BROKEN
    held = all(one.held for one in judged.outcomes) and not judged.errors
    return DONE if held else PROBLEM
