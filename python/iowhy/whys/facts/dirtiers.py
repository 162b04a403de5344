"""Which programs outside the command made pages dirty on a device's filesystems, that a sync may wait for."""

from msgspec import Struct

from iowhy.relations import Relations


class Dirtier(Struct, frozen=True):
    """All processes of one name; `tgid` is the one that did most. `name` is None where none was seen."""

    name: str | None
    tgid: int
    processes: int
    pages: int

    @property
    def who(self) -> str:
        """`dd (process 77)`, `dd (8 processes)`."""
        if self.name is None:
            return f"process {self.tgid}"
        if self.processes > 1:
            return f"{self.name} ({self.processes} processes)"
        return f"{self.name} (process {self.tgid})"


_MOST = """
WITH d AS (
  SELECT o.tgid, sum(o.pages) AS pages FROM dirtied_by_others AS o
  WHERE o.dev IN (SELECT dev FROM filesystems WHERE disk_dev = {dev}) GROUP BY o.tgid
)
SELECT any_value(n.name) AS name, arg_max(d.tgid, d.pages) AS tgid, count(*) AS processes, sum(d.pages) AS pages
FROM d LEFT JOIN (SELECT tgid, max(comm) AS name FROM neighbours GROUP BY tgid) AS n ON n.tgid = d.tgid
GROUP BY coalesce(n.name, d.tgid::VARCHAR) ORDER BY pages DESC, tgid LIMIT 1
"""


def most_dirtied(relations: Relations, dev: int) -> Dirtier | None:
    """Who made most pages dirty on the filesystems of a disk; None where nobody did, or it was not recorded."""
    if not relations.has("dirtied_by_others"):
        return None
    found = relations.read(Dirtier, _MOST.format(dev=dev))
    return found[0] if found else None
