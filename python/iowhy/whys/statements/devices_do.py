"""Devices whose use the text does not have: requests that are listed one by one (biosnoop, blkparse), and what a device moves."""

from collections.abc import Iterator

from iowhy.sentences import worded
from iowhy.whys import links
from iowhy.whys.chain import link
from iowhy.whys.facts import Facts
from iowhy.whys.stated_fact import Statement
from iowhy.whys.statements.requests_take import SLOW_NS

_TIMED = """
SELECT coalesce(any_value(d.name), (r.dev >> 20) || ':' || (r.dev & 1048575)) AS name, r.op || ' request' AS kind, count(*) AS n,
  avg(r.complete_ns - coalesce(r.issue_ns, r.queue_ns)) AS mean_ns, max(r.complete_ns - coalesce(r.issue_ns, r.queue_ns)) AS most_ns
FROM block_requests r LEFT JOIN (SELECT dev, any_value(name) AS name FROM devices GROUP BY dev) d ON d.dev = r.dev
WHERE r.complete_ns IS NOT NULL GROUP BY r.dev, r.op ORDER BY mean_ns * n DESC LIMIT 1
"""


def state(facts: Facts) -> Iterator[Statement]:
    """Of requests those that take most time; else what the most loaded device does."""
    if facts.relations.has("block_requests") and facts.relations.has("devices"):
        for name, kind, n, mean, most in facts.relations.rows(_TIMED):
            said = worded(
                "requests-listed",
                "{device}: {requests:count "
                + kind
                + "} took {mean:ns} on average, and {most:ns} at most",
                device=name,
                requests=n,
                mean=mean,
                most=most,
            )
            grave = 0.8 if mean >= SLOW_NS else 0.35
            yield Statement(grave, link(said, mean, "ns", "requests"))
        return
    top = facts.devices.top
    does = links.device_load(facts) if top is not None and top.busy_share is None else None
    if does is not None:
        yield Statement(0.2, does)
