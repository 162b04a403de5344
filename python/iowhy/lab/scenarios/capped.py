"""Volumes that are held at a rate: by requests, by bytes, and by credits that run out."""

from collections.abc import Callable

from iowhy.lab.scenario import Plan, Scenario, Variant
from iowhy.lab.scenarios._work import make_file, work
from iowhy.lab.stage import Stage

#: A network volume: half a millisecond, and many requests at once.
_VOLUME = ("--access-us=500", "--channels=64", "--megabytes-per-s=1000")


def _reader(caps: tuple[str, ...], block: str, reads: int) -> Callable[[Stage], Plan]:
    def prepare(stage: Stage) -> Plan:
        filesystem = stage.filesystem(stage.disk(1024, changes=(*_VOLUME, *caps)))
        path = make_file(filesystem.path / "data", stage.choice.size(128), stage.choice.seed)
        return Plan(
            work(
                "randread", file=path, threads=4, block=block, seed=stage.choice.seed,
                reads=stage.choice.count(reads),
            )
        )  # fmt: skip

    return prepare


def _scenario(
    name: str,
    what: str,
    caps: tuple[str, ...],
    block: str,
    reads: int,
    raised: Variant | None = None,
) -> Scenario:
    return Scenario(
        name=name,
        title=f"four threads read at random places of a volume that is held at {what}",
        variants=(
            Variant("held", what, _reader(caps, block, reads), ("device-capped",)),
            raised
            or Variant(
                "free",
                "no limit",
                _reader((), block, reads),
                ("random-access", "device-saturated", "queue-shallow"),
            ),
        ),
        devices=("ssd",),
        filesystems=("ext4", "xfs"),
        remedy=("device-capped.raise-limit-to",),
        chain=("device-capped.at", "device-capped.needs"),
        share_is_gain=False,
    )


SCENARIOS = (
    _scenario("capped-requests", "1,200 requests/s", ("--cap-requests=1200",), "4K", 900),
    _scenario("capped-bytes", "40 MB/s", ("--cap-bytes=40e6",), "64K", 460),
    _scenario(
        "capped-credits",
        "800 requests/s after 4,000 at 3,000/s",
        ("--cap-requests=800:4000", "--cap-requests=3000:30"),
        "4K",
        2200,
        Variant(
            "raised",
            "3,000 requests/s",
            _reader(("--cap-requests=3000:30",), "4K", 2200),
            ("device-capped",),
        ),
    ),
)
