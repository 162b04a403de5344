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


def samples(story: Story, *, kernel: float, programs: float = 0.1) -> Story:
    """The machine's CPUs: the kernel's own threads, and programs that spend a fifth in the kernel."""
    at = START
    while at <= START + story.elapsed:
        passed = at - START
        story.add(
            "cpu_samples", ts_ns=at, cpu=-1, user_ns=int(passed * programs), iowait_ns=0, steal_ns=0,
            system_ns=int(passed * (kernel + programs / 4)),
            idle_ns=int(passed * max(0.0, story.cpus - kernel - 1.25 * programs)),
        )  # fmt: skip
        at += STEP
    return story


def writer(
    options: str = COMPRESSED, *, kernel: float = 1.0, programs: float = 0.1, service: int = MS
) -> Story:
    """A program that waits for its fsync nearly all the time, while the machine computes in the kernel."""
    story = Story(2.0).caller("fsync", 4, blocked=480 * MS, reason="page_lock", bytes_=None)
    story.add("filesystems", dev=FS, kind="btrfs", mount="/data", options=options, disk_dev=DISK)
    story.requests(40, op="write", bytes_=MIB, service=service)
    return samples(story, kernel=kernel, programs=programs)


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


@pytest.mark.parametrize(
    ("service", "kernel", "cause"), [(MS, 1.5, "filesystem-cpu"), (17 * MS, 1.5, "cache-cold"), (MS, 0.1, "io-throttled")]
)  # fmt: skip
def test_cold_reads_of_compressed_files(
    judged: Judge, service: int, kernel: float, cause: str
) -> None:
    """They wait for who decompresses, or for the device, or for neither."""
    story = Story(2.0).caller("read", 100, blocked=18 * MS, bytes_=128 * 1024)
    story.add("filesystems", dev=FS, kind="btrfs", mount="/data", options=COMPRESSED, disk_dev=DISK)
    story.requests(100, bytes_=40 * 1024, service=service)
    story.cache(lookups=3200, misses=100, readahead=3100)
    leads(judged(samples(story, kernel=kernel)), cause, 0.8)


def test_who_waits_for_cpus_that_the_kernel_s_threads_use(judged: Judge) -> None:
    """It is not for other programs that it waits."""
    story = Story(2.0, cpus=2).caller(
        "fsync", 4, blocked=300 * MS, runnable=180 * MS, reason="page_lock", bytes_=None
    )
    story.add("filesystems", dev=FS, kind="btrfs", mount="/data", options=COMPRESSED, disk_dev=DISK)
    story.requests(40, op="write", bytes_=MIB, service=MS)
    found = leads(judged(samples(story, kernel=1.85)), "filesystem-cpu", 0.65)
    assert not any("before the others" in one for one in found.remedies)
