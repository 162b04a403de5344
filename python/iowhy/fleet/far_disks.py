"""Disks that are slower than those of their kind on other hosts, in a sentence each, for whoever asked a fleet something else."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from iowhy.fleet.asking import Question, fleet_result
from iowhy.fleet.members import MOST_TOGETHER, LeftOut
from iowhy.reports.filters import Filters
from iowhy.sentences import Sentence, worded

#: Hosts that a disk is compared with, itself among them, at least (reports/outliers.sql): with fewer recordings nothing is read for it.
LEAST = 8


def slower_than_peers(paths: Sequence[Path]) -> list[Sentence]:
    """One for each disk, that which costs most first; none of more recordings than one statement reads: the report of outliers reads them."""
    if not LEAST <= len(paths) <= MOST_TOGETHER:
        return []
    with fleet_result(Question("outliers", Filters()), paths, LeftOut()) as result:
        rows = [row for row in result.table().to_pylist() if row["ratio"] > 1]
    worst: dict[tuple[str, str], dict[str, Any]] = {}
    for row in sorted(rows, key=lambda one: one["extra_ns"], reverse=True):
        worst.setdefault((row["host"], row["device"]), row)
    return [
        worded(
            "fleet-slower-than-peers",
            "{device} of {host} takes {ratio:.1f} times as long for each {op} as on {peers:count other host} with such a disk",
            device=row["device"],
            host=row["host"],
            ratio=row["ratio"],
            op=row["op"],
            peers=row["hosts"] - 1,
        )
        for row in worst.values()
    ]
