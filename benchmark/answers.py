"""What iowhy and a baseline say of each case: `python -m benchmark.answers iowhy|use FOLDER > ANSWERS`.

The baseline has the thresholds of the USE method on the readings that the recording or text has, as iostat, vmstat and free print them:
of each resource its utilization, then its saturation. It names the resource's usual cause, always sure.
"""

import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter

from benchmark.score import INDEX
from iowhy.errors import Problem
from iowhy.recordings import Recording, open_recording
from iowhy.sources.diagnose import diagnose
from iowhy.whys.facts import facts_of
from iowhy.whys.verdict import judge

#: Busy from here on (Gregg: 70 % and more is a bottleneck by its queueing; 100 % surely); saturated from these on.
BUSY, QUEUE, AWAIT_NS = 0.7, 1.0, 20_000_000
#: Less than this of the memory available is short.
SHORT = 0.05
_SURE = 0.9

_DISKS = """
SELECT sum(busy_ns) / sum(dur_ns), sum(queue_ns) / sum(dur_ns), (sum(read_ns) + sum(write_ns)) / nullif(sum(reads) + sum(writes), 0)
FROM disk_steps WHERE busy_ns IS NOT NULL GROUP BY dev ORDER BY 1 DESC LIMIT 1
"""


#: Causes, the first one first: how sure each is said to be, and which share of the time its remedy could save, if it says that.
Answer = list[tuple[str, float] | tuple[str, float, float]]


def by_iowhy(recording: Recording) -> Answer:
    """Its findings."""
    return [(one.cause, one.confidence, one.gain) for one in judge(recording).findings]


def by_use(recording: Recording) -> Answer:
    """The first resource that is short of something."""
    with facts_of(recording) as facts:
        ask = facts.relations.rows
        cpu = next(iter(ask("SELECT busy_share, swap_pages FROM machine_levels")), (None, None))
        disk = next(iter(ask(_DISKS)), (None, None, None))
        free = next(
            iter(ask("SELECT min(available_bytes * 1.0 / total_bytes) FROM memory_samples")),
            (None,),
        )
    busy, queue, took_ns = (float(one or 0) for one in disk)
    if float(cpu[1] or 0) > 0 or (free[0] is not None and float(free[0]) < SHORT):
        return [("memory-pressure", _SURE)]
    if busy >= BUSY or (queue >= QUEUE and took_ns >= AWAIT_NS):
        return [
            ("device-slow" if took_ns >= AWAIT_NS and queue < QUEUE else "device-saturated", _SURE)
        ]
    if float(cpu[0] or 0) >= BUSY:
        return [("cpu-saturated", _SURE)]
    return [] if cpu[0] is None and disk[0] is None else [("healthy", _SURE)]


WHO: dict[str, Callable[[Recording], Answer]] = {"iowhy": by_iowhy, "use": by_use}


def answers(who: str, folder: Path) -> Iterator[dict[str, object]]:
    """Of each case that is in the folder."""
    for case in json.loads(INDEX.read_text()):
        file = folder / case["file"]
        if not file.exists():
            continue
        with tempfile.TemporaryDirectory() as made:
            begun = perf_counter()
            try:
                text = case["kind"] == "text"
                recording = (
                    diagnose([str(file)], Path(made) / "t.iowhy").recording
                    if text
                    else open_recording(file)
                )
                causes = WHO[who](recording)
            except Problem:
                causes = []
            yield {
                "name": case["name"],
                "causes": causes,
                "seconds": round(perf_counter() - begun, 3),
            }


if __name__ == "__main__":
    for one in answers(sys.argv[1], Path(sys.argv[2])):
        print(json.dumps(one), flush=True)
