"""filesystem-cpu: what a filesystem computes, in the program's calls or in the kernel's own threads."""

import pytest

from tests.numbers_told import tells

from ..conftest import Judge, absent, chain, finding, leads
from ..made import DISK, FS, MIB, MS, START, STEP, Story

COMPRESSED = "rw,relatime,compress=zstd:15,subvol=/"


def reader(*frames: str, kind: str = "squashfs", part: float = 0.9) -> Story:
    """A thread that is in the kernel 90 % of the time; `part` of its samples have these frames."""
    story = Story(2.0).caller("read", 100, cpu=18 * MS, blocked=0, bytes_=MIB, gap_share=0.5)
    story.add("filesystems", dev=FS, kind=kind, mount="/data", options="ro", disk_dev=DISK)
    story.stack(1, *frames, "vfs_read").stack(2, "copy_page_to_iter", "vfs_read")
    for number in range(100):
        story.add(
            "stack_samples", ts_ns=START + number * 20 * MS, tgid=10, tid=10, kind="cpu", syscall="read",
            stack_id=1 if number < 100 * part else 2, weight_ns=18 * MS, whole=True,
        )  # fmt: skip
    return story


SQUASHFS = ("lzma_main", "xz_dec_run", "squashfs_xz_uncompress", "squashfs_decompress")


def test_decompression_in_a_reader_is_the_image_s(judged: Judge) -> None:
    verdict = judged(reader(*SQUASHFS))
    found = leads(verdict, "filesystem-cpu", 0.75, 0.85)
    assert "/data (squashfs)" in found.summary and "mksquashfs" in found.remedies[0]
    assert tells(chain(found), "81 %")
    # What it computes itself is left.
    rest = finding(verdict, "cpu-serial")
    assert rest is None or rest.share < 0.2


@pytest.mark.parametrize(
    "frames",
    [
        ("zstd_decompress", "zram_read_page", "squashfs_decompress"),
        ("blake2s_compress", "get_random_bytes_user"),
        ("crc32c_le", "ext4_inode_csum"),
    ],
)
def test_not_what_is_computed_for_others(judged: Judge, frames: tuple[str, ...]) -> None:
    verdict = judged(reader(*frames, kind="ext4"))
    absent(verdict, "filesystem-cpu")
    leads(verdict, "cpu-serial", 0.9)


def test_not_a_little_of_it(judged: Judge) -> None:
    absent(judged(reader(*SQUASHFS, part=0.05)), "filesystem-cpu")


def writer(
    options: str = COMPRESSED, *, kernel: float = 1.0, programs: float = 0.1, service: int = MS
) -> Story:
    """A program that waits for its fsync nearly all the time, while the machine computes in the kernel."""
    story = Story(2.0).caller("fsync", 4, blocked=480 * MS, reason="page_lock", bytes_=None)
    story.add("filesystems", dev=FS, kind="btrfs", mount="/data", options=options, disk_dev=DISK)
    story.requests(40, op="write", bytes_=MIB, service=service)
    at = START
    while at <= START + story.elapsed:
        passed = at - START
        story.add(
            "cpu_samples", ts_ns=at, cpu=-1, user_ns=int(passed * programs), iowait_ns=0, steal_ns=0,
            system_ns=int(passed * (kernel + programs / 4)),
            idle_ns=int(passed * (story.cpus - kernel - 1.25 * programs)),
        )  # fmt: skip
        at += STEP
    return story


def test_the_kernel_s_threads_compress_for_who_waits(judged: Judge) -> None:
    found = leads(judged(writer()), "filesystem-cpu", 0.9)
    assert "(btrfs, zstd:15)" in found.summary
    assert "compress=zstd:1 " in found.remedies[0] and "compress=no" in found.remedies[1]
    assert tells(chain(found), "1.01 CPUs")
    assert found.confidence < 0.8


def test_at_the_lowest_level_only_none_is_less(judged: Judge) -> None:
    found = leads(judged(writer("rw,compress-force=zstd:1")), "filesystem-cpu", 0.9)
    assert "compress=no" in found.remedies[0] and len(found.remedies) == 1


def test_not_where_nothing_computes(judged: Judge) -> None:
    absent(judged(writer("rw,relatime")), "filesystem-cpu")
    absent(judged(writer("rw,compress=no")), "filesystem-cpu")


def test_not_kernel_time_of_other_programs(judged: Judge) -> None:
    absent(judged(writer(kernel=0.2, programs=0.6)), "filesystem-cpu")


def test_not_a_device_that_is_busy(judged: Judge) -> None:
    absent(judged(writer(service=45 * MS)), "filesystem-cpu")


def test_not_where_the_kernel_s_threads_rest(judged: Judge) -> None:
    absent(judged(writer(kernel=0.3)), "filesystem-cpu")
