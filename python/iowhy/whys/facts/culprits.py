"""Who outside the command loads what it waits for: a container, else a service, a session, a program, a process."""

from collections import defaultdict
from collections.abc import Sequence

from msgspec import Struct

from iowhy.relations import Relations

#: What the relation competing_load says of each group.
COLUMNS = "level, container, comm, programs, tgid, processes, load"


class Culprit(Struct, frozen=True):
    """A group of processes (the relation process_groups) and its load. `comm` is its title or program with most of that, of `programs`;
    `tgid` the process of that name with most; a program of several titles is its `container`."""

    level: str
    container: str | None
    comm: str | None
    programs: int
    tgid: int
    processes: int
    load: float | None

    @property
    def is_kernel(self) -> bool:
        """Its workers, which work for others."""
        return self.level == "kernel"

    def who(self, more: str | None = None) -> str:
        """`dd (process 77)`, `dd (8 processes)`, `container prod/db/app (dd, 8 processes)`; `more` is behind the number."""
        number = f"{self.processes} processes" if self.processes > 1 else f"process {self.tgid}"
        told = [number, *([more] if more else [])]
        if self.container is None and self.comm is None:
            return f"process {self.tgid} ({more})" if more else f"process {self.tgid}"
        if self.container is None:
            return f"{self.comm} ({', '.join(told)})"
        program = [] if self.comm is None else [self.comm]
        if self.programs > 1:
            program = [f"mostly {self.comm}"]
        kind = "container " if self.level == "container" else ""
        return f"{kind}{self.container} ({', '.join([*program, *told])})"


class Member(Struct, frozen=True):
    """One process of a group, and its load."""

    group_key: str
    level: str
    container: str | None
    comm: str | None
    program: str | None
    tgid: int
    load: float


def heaviest(members: Sequence[Member]) -> Culprit:
    """The group with most of the load, of one process at least."""
    groups: dict[str, list[Member]] = defaultdict(list)
    for one in members:
        groups[one.group_key].append(one)
    group = min(
        groups.values(), key=lambda found: (-sum(one.load for one in found), found[0].group_key)
    )
    programs: dict[str | None, float] = defaultdict(float)
    for one in group:
        programs[one.comm] += one.load
    first = min(group, key=lambda one: (-programs[one.comm], one.comm or "", -one.load, one.tgid))
    whole = sum(one.load for one in group)
    return Culprit(
        first.level,
        first.container or (first.program if len(programs) > 1 else None),
        first.comm,
        len(programs),
        first.tgid,
        len({one.tgid for one in group}),
        whole,
    )


def most_loading(relations: Relations, resource: str, dev: int) -> Culprit | None:
    """The group with most of the `requests` of a device, or of the `dirty pages` on a disk's filesystems; None if there is none."""
    return relations.first(
        Culprit,
        f"SELECT {COLUMNS} FROM competing_load WHERE resource = '{resource}' AND dev = {dev} AND place = 1",
    )
