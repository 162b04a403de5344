"""What every verdict needs, loaded while the recorder loads its programs: neither waits for the other.

Steps of some ten milliseconds each: whoever takes them stops when the recording begins (iowhy.sources.live), so that
nothing of this is done beside the command.
"""

from collections.abc import Callable, Sequence


def steps() -> Sequence[Callable[[], object]]:
    """In the order in which a verdict takes them; what is not done ahead is done then."""
    return (_facts, _overview, _causes, _page, _database, _connection, _relations)


def _facts() -> None:
    import iowhy.whys.facts  # noqa: F401


def _relations() -> None:
    from iowhy.relations.relation import relations

    for name in relations():
        relations()[name]


def _overview() -> None:
    import iowhy.overview  # noqa: F401


def _causes() -> None:
    from iowhy.whys.cause import causes

    causes()


def _database() -> None:
    import iowhy.recording.database  # noqa: F401


def _connection() -> None:
    from iowhy.recording.database import connect_ahead

    connect_ahead()


def _page() -> None:
    import iowhy.views.verdict_page  # noqa: F401
