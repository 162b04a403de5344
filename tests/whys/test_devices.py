"""Whose device it is where no request says so (--mode proc)."""

from pathlib import Path

import pytest

from iowhy.whys.facts import Facts
from iowhy.whys.verdict import judge

from .made import DISK, MIB, START, S, Story

OTHER = 7 << 20


def story(*, here: int, other: int, mount: int | None = None) -> Story:
    """The command writes 100 MiB; two devices write so many MiB, the other one far busier."""
    made = Story(2.0).device(OTHER, "loop0").thread(blocked=0.9)
    for at, part in ((START, 0), (START + 2 * S, 1)):
        made.add("process_io", ts_ns=at, tgid=10, read_bytes=0, written_bytes=part * 100 * MIB)
        for dev, written, reads in ((DISK, here, 1), (OTHER, other, 50_000)):
            made.add(
                "disk_samples", ts_ns=at, dev=dev, reads=part * reads, writes=part * 100,
                read_bytes=part * reads * 4096, written_bytes=part * written * MIB,
                busy_ns=part * S, queue_ns=part * reads * 1_000_000,
            )  # fmt: skip
    if mount is not None:
        made.add("filesystems", dev=1, kind="ext4", mount="/", disk_dev=mount)
    return made


@pytest.mark.parametrize(
    ("here", "other", "device"),
    [(110, 0, "sda"), (110, 20, "sda"), (20, 130, "loop0"), (20, 20, None), (110, 130, None)],
)
def test_the_device_that_moved_what_the_command_did(
    tmp_path: Path, here: int, other: int, device: str | None
) -> None:
    with Facts(story(here=here, other=other).made(tmp_path / "x.iowhy")) as facts:
        top = facts.devices.top
        assert (None if top is None else top.name) == device


@pytest.mark.parametrize(("others", "cause"), [(10, "device-saturated"), (900, "device-contended")])
def test_what_others_moved_is_not_taken_for_the_commands(
    tmp_path: Path, others: int, cause: str
) -> None:
    """100 MiB of its own on a device that is busy all the time, and others' beside."""
    made = story(here=100 + others, other=0)
    made.missing |= {"block_requests", "waits", "syscalls", "page_cache"}
    for row in made.tables["disk_samples"]:
        if row["dev"] == DISK and row["ts_ns"] != START:
            row["queue_ns"] = 8 * 2 * S
            row["busy_ns"] = 2 * S
    verdict = judge(made.made(tmp_path / "x.iowhy"))
    assert verdict.findings and verdict.findings[0].cause == cause, verdict.answer
    if cause == "device-contended":
        assert verdict.findings[0].confidence < 0.7
        assert not any(one.cause == "device-saturated" for one in verdict.findings)
