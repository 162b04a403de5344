"""Control: random reads, deep enough to bring a flash disk to its limit."""

from iowhy.lab.scenario import Plan, Scenario, Variant
from iowhy.lab.scenarios._work import make_file, work
from iowhy.lab.stage import Stage


def _reader(stage: Stage, threads: int, block: str) -> Plan:
    # Slow enough that the disk is the limit and not the processors that play it.
    filesystem = stage.filesystem(stage.disk(1024, changes=("--megabytes-per-s=200",)))
    path = make_file(filesystem.path / "data", stage.choice.size(256), stage.choice.seed)
    return Plan(
        work(
            "randread", file=path, threads=threads, block=block, seed=stage.choice.seed,
            for_seconds=3 * stage.choice.scale,
        )
    )  # fmt: skip


SCENARIOS = (
    Scenario(
        name="deep-reader",
        title="16 threads read at random places of a flash disk",
        variants=(
            Variant(
                "deep", "16 reads at once", lambda s: _reader(s, 16, "64K"), ("device-saturated",)
            ),
        ),
        devices=("ssd",),
    ),
    Scenario(
        name="shallow-reader",
        title="one thread reads at random places of a flash disk",
        variants=(
            Variant(
                "shallow",
                "one read at a time",
                lambda s: _reader(s, 1, "4K"),
                ("queue-shallow", "random-access"),
            ),
        ),
        devices=("ssd",),
    ),
)
