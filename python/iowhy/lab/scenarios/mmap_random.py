"""Pages of a mapped file, touched in random order: what readahead brings around them nobody uses."""

import sys

from iowhy.lab.scenario import FINE, Plan, Scenario, Variant
from iowhy.lab.scenarios._work import make_file
from iowhy.lab.stage import Stage

_READER = """
import mmap, random, sys
path, touches, advice = sys.argv[1], int(sys.argv[2]), sys.argv[3]
chance = random.Random(int(sys.argv[4]))
with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as data:
    data.madvise(getattr(mmap, advice))
    pages = len(data) // mmap.PAGESIZE
    print(sum(data[chance.randrange(pages) * mmap.PAGESIZE] for _ in range(touches)))
"""


def _touch(stage: Stage, advice: str) -> Plan:
    path = stage.scratch_filesystem(1024).path / "data"
    make_file(path, stage.choice.size(512), stage.choice.seed)
    touches = str(stage.choice.count(3000))
    return Plan(
        (sys.executable, "-c", _READER, str(path), touches, advice, str(stage.choice.seed)),
        cold=True,
    )


SCENARIO = Scenario(
    name="mmap-random",
    title="a mapped file, touched in random order",
    variants=(
        Variant(
            "normal",
            "the usual readahead",
            lambda s: _touch(s, "MADV_NORMAL"),
            ("readahead-poor", "cache-cold"),
        ),
        Variant(
            "random",
            "MADV_RANDOM",
            lambda s: _touch(s, "MADV_RANDOM"),
            ("cache-cold", *FINE, "queue-shallow", "random-access", "small-requests"),
        ),
    ),
    remedy=("readahead-poor.mark-mapping",),
    devices=("ssd",),
)
