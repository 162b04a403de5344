"""Summary numbers and histograms that other tools printed: curt, filemon, fileplace, iozone, …"""

from msgspec import Struct

from iowhy.relations import Relations


class Number(Struct, frozen=True):
    """One number: `tool`, its `subject` (a file, a call, a device, a job) and its `metric`."""

    tool: str
    subject: str
    metric: str
    value: float


class Load(Struct, frozen=True):
    """A device by means over all of the time: its share of it, requests in flight, requests completed a second."""

    name: str
    busy_share: float
    queue: float
    operations_per_s: float | None


class Measured(Struct, frozen=True):
    """At most 5,000 numbers, by tool and subject; histograms by metric: (count, median)."""

    numbers: tuple[Number, ...]
    histograms: dict[str, tuple[float, float | None]]

    def of(self, tool: str, metric: str) -> dict[str, float]:
        """Subject → value for one metric of one tool."""
        return {n.subject: n.value for n in self.numbers if n.tool == tool and n.metric == metric}

    def metric(self, metric: str) -> dict[str, float]:
        """Subject → value for one metric, whatever tool printed it."""
        return {n.subject: n.value for n in self.numbers if n.metric == metric}

    @property
    def device(self) -> "Load | None":
        """The busiest device of those whose utilisation and queue a tool printed next to each other (sar -d)."""
        shares, queues = self.metric("busy_share"), self.metric("queue_mean")
        completed = self.metric("operations_per_s")
        name = max(
            (name for name in shares if name in queues), key=shares.__getitem__, default=None
        )
        return None if name is None else Load(name, shares[name], queues[name], completed.get(name))

    @property
    def tools(self) -> frozenset[str]:
        """The tools that printed any."""
        return frozenset(n.tool for n in self.numbers)


_HISTOGRAMS = """
WITH b AS (
  SELECT metric, low, high, sum("count") AS n FROM histograms GROUP BY metric, low, high
), c AS (
  SELECT *, sum(n) OVER (PARTITION BY metric ORDER BY low) AS upto,
    sum(n) OVER (PARTITION BY metric) AS total FROM b WHERE n > 0
)
SELECT metric, max(total) AS total,
  min(CASE WHEN 2 * upto >= total THEN (low + coalesce(high, low)) / 2 END) AS middle
FROM c GROUP BY metric
"""


def measure(relations: Relations) -> Measured:
    """From measurements and histograms."""
    numbers: list[Number] = []
    if relations.has("measurements"):
        numbers = relations.read(
            Number,
            """SELECT lower(tool) AS tool, subject, metric,
              CASE WHEN metric LIKE 'since_start_%' OR metric LIKE '%_peak_%' THEN max(value) ELSE avg(value) END AS value
            FROM measurements GROUP BY lower(tool), subject, metric ORDER BY 1, 2, 3 LIMIT 5000""",
        )
    found = relations.rows(_HISTOGRAMS) if relations.has("histograms") else []
    histograms = {metric: (total, middle) for metric, total, middle in found}
    return Measured(tuple(numbers), histograms)
