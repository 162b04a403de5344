"""A program that changes a little of each of many files, and then syncs: the kernel hops from file to file.

What is in memory as large folios would be counted as written whole, so the files are cold. On a disk without
a write cache: one that takes all of it at once would put it in order without help.
"""

from pathlib import Path

from iowhy.lab.scenario import FINE, Plan, Scenario, Variant
from iowhy.lab.scenarios._work import make_file
from iowhy.lab.stage import Stage

_NO_CACHE = ("--cache-bytes=0",)
_FILES, _FILE_MIB, _HEADER_BYTES = 400, 1, 16 << 10
_CHANGE = (
    'for (glob "$ARGV[0]/*") {open my $file, "+<", $_ or die; syswrite $file, "\\0" x $ARGV[1]} '
    'exec "sync"'
)


def _headers(stage: Stage) -> Plan:
    filesystem = stage.filesystem(stage.disk(1024, changes=_NO_CACHE))
    folder = filesystem.path / "songs"
    folder.mkdir()
    for number in range(stage.choice.count(_FILES)):
        make_file(folder / f"{number:04}", _FILE_MIB << 20, stage.choice.seed + number)
    return _change(folder, _HEADER_BYTES)


def _one_file(stage: Stage) -> Plan:
    filesystem = stage.filesystem(stage.disk(1024, changes=_NO_CACHE))
    folder = filesystem.path / "songs"
    folder.mkdir()
    count = stage.choice.count(_FILES)
    make_file(
        folder / "headers",
        stage.choice.size(count * _HEADER_BYTES / (1 << 20), 4096),
        stage.choice.seed,
    )
    return _change(folder, count * _HEADER_BYTES)


def _change(folder: Path, size_bytes: int) -> Plan:
    return Plan(("perl", "-e", _CHANGE, str(folder), str(size_bytes)), cold=True)


SCENARIO = Scenario(
    name="many-headers",
    title="16 KiB at the head of each of 400 files are changed, then all is synced",
    variants=(
        Variant("each", "a file for each", _headers, ("writeback-scattered",)),
        Variant(
            "one-file",
            "all heads in one file",
            _one_file,
            ("flush-cost", *FINE, "sync-storm", "device-saturated"),
        ),
    ),
    devices=("hdd",),
    filesystems=("ext4", "xfs"),
    share_is_gain=False,
    remedy=(
        "sync-storm.one-archive-any",
        "sync-storm.one-archive",
    ),
    tools=("perl", "sync"),
)
