"""Names as people type them: of containers, pods, control groups."""

from iowhy.errors import Problem

_MOST = 4096


def one_name(option: str, text: str) -> tuple[str, ...]:
    """One name; each use of the option adds one. Raises Problem for what can be none."""
    name = text.strip()
    if not name or len(name) > _MOST or "\0" in name:
        raise Problem("name-unusable", option=option)
    return (name,)
