"""Case 5: the same bytes as many small files, each synchronised, or as few large ones."""

from iowhy.lab.scenario import Figure, Plan, Scenario, Variant, per_disk
from iowhy.lab.scenarios._work import work
from iowhy.lab.stage import Stage

_TOTAL_MIB = 10
_DISK_MIB = 1024


def _files(
    stage: Stage, file_kib: int, *, sync: str = "each", options: tuple[str, ...] = ()
) -> Plan:
    filesystem = stage.scratch_filesystem(_DISK_MIB, options=options)
    return Plan(
        work(
            "smallfiles",
            dir=filesystem.path / "files",
            bytes=stage.choice.size(_TOTAL_MIB, step_bytes=2 << 20),
            file_bytes=file_kib << 10,
            sync=sync,
            seed=stage.choice.seed,
        )
    )


_SYNC = ("sync-storm", "flush-cost", "journal-entangled")
_REST = ("healthy", "device-saturated", "not-io", *_SYNC)

SCENARIO = Scenario(
    name="smallfiles",
    title="10 MiB as files of 64 KiB with an fsync each",
    case=5,
    variants=(
        Variant("small", "files of 64 KiB", lambda s: _files(s, 64), _SYNC),
        Variant("large", "files of 2 MiB", lambda s: _files(s, 2048), _REST),
        Variant(
            "batched",
            "one syncfs after all are written",
            lambda s: _files(s, 64, sync="batch"),
            _REST,
        ),
        Variant(
            "nobarrier",
            "ext4 without device flushes",
            lambda s: _files(s, 64, options=("nobarrier",) if s.choice.fs == "ext4" else ()),
            (*_SYNC, "healthy", "device-slow", "writeback-scattered"),
        ),
    ),
    devices=("hdd", "flush-slow", "ssd", "file"),
    chain=("sync", "flush"),
    figures=(
        Figure("time", "s", None, None, lambda p: p.get("elapsed_s")),
        Figure("device flushes", "", None, None, lambda p: per_disk(p, "flushes")),
        Figure(
            "share in fsync",
            "%",
            90.0,
            None,
            lambda p: 100 * p["fsync_seconds"] / p["elapsed_s"] if "fsync_seconds" in p else None,
        ),
    ),
)
