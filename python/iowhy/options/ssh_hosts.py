"""Machines as ssh knows them."""

from iowhy.errors import Problem


def checked_name(name: str) -> str:
    """HOST or USER@HOST. Raises Problem for what ssh would take for an option, or what is not a name."""
    if not name or name.startswith("-") or not name.isprintable():
        raise Problem("not-a-machine")
    return name
