"""Case 5: the same bytes as many small files, each synchronised, or as few large ones."""

from pathlib import Path

from iowhy.errors import Problem
from iowhy.lab import shell
from iowhy.lab.scenario import CPU, Figure, Plan, Scenario, Variant, per_disk
from iowhy.lab.scenarios._work import work
from iowhy.lab.stage import Stage

_TOTAL_MIB = 10
_DISK_MIB = 1024


def _files(
    stage: Stage, file_kib: int, *, sync: str = "each", options: tuple[str, ...] = ()
) -> Plan:
    filesystem = stage.scratch_filesystem(_DISK_MIB, options=options)
    return _write(stage, filesystem.path / "files", file_kib, sync)


def _no_barrier(stage: Stage) -> Plan:
    if stage.choice.fs == "xfs":
        raise Problem("variant-not-on-xfs")
    return _files(stage, 64, options=("nobarrier",))


def _journal_elsewhere(stage: Stage) -> Plan:
    """The log on its own disk, so that data and log do not pull one arm to and fro."""
    data, journal = stage.disk(_DISK_MIB), stage.disk(256)
    if stage.choice.fs == "ext4":
        shell.run(["mkfs.ext4", "-q", "-F", "-O", "journal_dev", "-b", "4096", str(journal.path)])
        mkfs: tuple[str, ...] = ("-b", "4096", "-J", f"device={journal.path}")
        options: tuple[str, ...] = ()
    elif stage.choice.fs == "xfs":
        mkfs = ("-l", f"logdev={journal.path},size=64m")
        options = (f"logdev={journal.path}",)
    else:
        raise Problem("no-journal-device", fs=stage.choice.fs)
    filesystem = stage.filesystem(data, mkfs=mkfs, options=options)
    return _write(stage, filesystem.path / "files", 64)


def _write(stage: Stage, folder: Path, file_kib: int, sync: str = "each") -> Plan:
    return Plan(
        work(
            "smallfiles",
            dir=folder,
            bytes=stage.choice.size(_TOTAL_MIB, step_bytes=2 << 20),
            file_bytes=file_kib << 10,
            sync=sync,
            seed=stage.choice.seed,
        )
    )


_SYNC = ("sync-storm", "flush-cost", "journal-entangled")
_QUICK = {"ssd": CPU, "file": CPU}
_REST = ("healthy", "device-saturated", "not-io", *_SYNC)

SCENARIO = Scenario(
    name="smallfiles",
    title="10 MiB as files of 64 KiB with an fsync each",
    case=5,
    variants=(
        Variant("small", "files of 64 KiB", lambda s: _files(s, 64), _SYNC),
        Variant("large", "files of 2 MiB", lambda s: _files(s, 2048), _REST, _QUICK),
        Variant(
            "batched",
            "one syncfs after all are written",
            lambda s: _files(s, 64, sync="batch"),
            _REST,
            _QUICK,
        ),
        Variant(
            "nobarrier",
            "mounted without device flushes",
            _no_barrier,
            (*_SYNC, "healthy", "device-slow", "writeback-scattered"),
        ),
        Variant("journal-elsewhere", "the log on a second disk", _journal_elsewhere, _SYNC),
    ),
    devices=("hdd", "flush-slow", "ssd", "file"),
    remedy=(
        "sync-storm.one-archive-any",
        "sync-storm.one-archive",
        "sync-storm.sync-once",
    ),
    chain=("in-calls", "flushes", "sync-storm.inodes"),
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
