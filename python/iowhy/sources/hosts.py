"""Which machine each part is of: one machine's waiting is not explained by another one's disks."""

from collections.abc import Sequence

from iowhy.errors import Problem
from iowhy.sources.format import Part


def of_one(parts: Sequence[Part], wanted: str | None) -> tuple[list[Part], list[str]]:
    """The parts of one machine (`wanted`, else the first one named), and what to say of the others.

    A part that does not name its machine is of the one named last before it in its file, else first behind it;
    a file without any name may be of each. Raises Problem when no part is of the machine wanted.
    """
    machines = _machines(parts)
    names = list(dict.fromkeys(name for name in machines if name is not None))
    if wanted is not None and wanted not in names:
        known = ", ".join(names) or "none"
        raise Problem("host-unknown", wanted=wanted, known=known)
    if len(names) < 2:
        return list(parts), []
    chosen = wanted or names[0]
    others = [name for name in names if name != chosen]
    kept = [part for part, name in zip(parts, machines, strict=True) if name in {None, chosen}]
    return kept, [
        f"the inputs are of different machines, {', '.join(names)}: only those of {chosen} are judged; "
        f"--host {others[0]} judges the other's"
    ]


def _machines(parts: Sequence[Part]) -> list[str | None]:
    """The machine's name for each part, None where it may be any."""
    found: list[str | None] = []
    for at, part in enumerate(parts):
        name = _named(part)
        if name is None and found and parts[at - 1].file == part.file:
            name = found[-1]
        if name is None:
            behind = (_named(later) for later in parts[at + 1 :] if later.file == part.file)
            name = next((later for later in behind if later is not None), None)
        found.append(name)
    return found


def _named(part: Part) -> str | None:
    name = part.parsed.host.get("name")
    return name if isinstance(name, str) else None
