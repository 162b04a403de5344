"""filesystem-full: writes wait while the filesystem makes room."""

import pytest

from tests.numbers_told import tells

from ..conftest import Judge, absent, chain, finding, fixes_of, leads, links_of
from ..made import DISK, FS, GIB, KIB, MIB, MS, START, Story

#: As on ext4 with little space left (fs/ext4/inode.c, fs/fs-writeback.c).
NONDA = (
    "schedule", "wb_wait_for_completion", "__writeback_inodes_sb_nr", "try_to_writeback_inodes_sb",
    "ext4_nonda_switch.isra.0", "ext4_da_write_begin", "generic_perform_write", "vfs_write",
)  # fmt: skip
O_SYNC = (
    "schedule", "folio_wait_writeback", "__filemap_fdatawait_range", "file_write_and_wait_range",
    "ext4_sync_file", "vfs_fsync_range", "ext4_buffered_write_iter", "vfs_write",
)  # fmt: skip


def copier(frames: tuple[str, ...], reason: str = "page_writeback") -> Story:
    """Each write of 128 KiB waits 9 of 10 ms."""
    story = Story(2.0).caller(
        "write", 200, blocked=9 * MS, bytes_=128 * KIB, reason=reason, stack_id=7
    )
    return story.stack(7, *frames).requests(200, op="write", bytes_=128 * KIB, service=8 * MS)


def test_a_copy_to_a_nearly_full_disk(judged: Judge) -> None:
    story = copier(NONDA)
    story.passes_of_writeback(20, 10, 256, "fs_free_space")
    story.add(
        "filesystems", dev=FS, kind="ext4", mount="/srv", options="rw,relatime", disk_dev=None
    )
    story.add(
        "syscalls", ts_ns=START + 1, dur_ns=10, tgid=10, tid=10, name="write", dev=FS, ino=1,
        bytes=4096, ret=-28,
    )  # fmt: skip
    verdict = judged(story)
    found = leads(verdict, "filesystem-full", 0.85)
    text = chain(found)
    assert tells(links_of(found)["filesystem-full.share"], "/srv")
    assert tells(text, "200", "9 ms")
    assert tells(text, "20", "20 MiB", "10")
    assert tells(text, "1 call")
    for cause in ("sync-storm", "flush-cost"):
        absent(verdict, cause)
    assert "O_SYNC" not in verdict.answer + text


@pytest.mark.parametrize("durable", [False, True])
def test_flags_say_whether_writes_sync(judged: Judge, durable: bool) -> None:
    """They wait for writeback: of what, no stack shows here."""
    story = copier(("schedule", "folio_wait_writeback", "vfs_write"))
    for row in story.tables["syscalls"]:
        row["durable"] = durable
    verdict = judged(story)
    assert ("O_SYNC" in str(verdict)) == durable
    if durable:
        # sync-free takes away calls that sync, and no write's own durability.
        assert leads(verdict, "sync-storm", 0.85).proof is None
    else:
        absent(verdict, "sync-storm")
        absent(verdict, "flush-cost")


def test_commits_so_that_freed_blocks_can_be_used(judged: Judge) -> None:
    frames = ("schedule", "jbd2_log_wait_commit", "jbd2_journal_force_commit_nested",
              "ext4_should_retry_alloc", "ext4_da_write_begin")  # fmt: skip
    leads(judged(copier(frames, "journal_commit")), "filesystem-full", 0.85)


def test_the_recorders_own_reason_needs_no_stack(judged: Judge) -> None:
    story = copier((), "make_room")
    story.tables["stacks"].clear()
    for row in story.tables["waits"]:
        row["stack_id"] = None
    verdict = judged(story)
    assert tells(chain(leads(verdict, "filesystem-full", 0.85)), "200", "9 ms")
    for cause in ("sync-storm", "flush-cost"):
        absent(verdict, cause)
    assert verdict.budget.elapsed("waiting for sync") == 0
    assert "O_SYNC" not in str(verdict)


def test_only_the_part_that_waits_for_room_is_claimed(judged: Judge) -> None:
    story = copier(NONDA)
    story.stack(8, *O_SYNC)
    for row in story.tables["waits"][::4]:
        row["stack_id"] = 8
    found = finding(judged(story), "filesystem-full")
    assert found is not None and 0.6 < found.share < 0.7


def test_not_writes_that_are_durable(judged: Judge) -> None:
    verdict = judged(copier(O_SYNC))
    absent(verdict, "filesystem-full")
    found = leads(verdict, "sync-storm", 0.85)
    assert tells(chain(found), "200", "O_SYNC", "O_DSYNC")


def test_a_mount_with_sync_makes_each_write_durable(judged: Judge) -> None:
    story = copier(("schedule", "folio_wait_writeback"))
    story.add("filesystems", dev=FS, kind="ext4", mount="/srv", options="rw,sync", disk_dev=None)
    assert "remount,async" in leads(judged(story), "sync-storm", 0.85).remedies[0]


def test_writeback_inside_a_write_alone_is_no_sync(judged: Judge) -> None:
    """No stack was kept, no option says it: that its pages are under way is all that is known."""
    story = copier(())
    story.tables["stacks"].clear()
    for row in story.tables["waits"]:
        row["stack_id"] = None
    verdict = judged(story)
    for cause in ("sync-storm", "flush-cost", "filesystem-full"):
        absent(verdict, cause)
    assert "O_SYNC" not in str(verdict)


#: A writer that waits until btrfs has made room (fs/btrfs/space-info.c), and one that waits for a commit to end.
TICKET = (
    "schedule", "handle_reserve_ticket", "__reserve_bytes", "btrfs_reserve_metadata_bytes",
    "btrfs_delalloc_reserve_metadata", "btrfs_buffered_write", "vfs_write",
)  # fmt: skip
COMMIT = ("schedule", "wait_current_trans", "start_transaction", "btrfs_dirty_inode", "vfs_write")


def on_btrfs(
    free: int | None, total: int | None = 2 * GIB, frames: tuple[str, ...] = TICKET
) -> Story:
    story = copier(frames, "journal_space")
    return story.add(
        "filesystems", dev=FS, kind="btrfs", mount="/srv", options="rw,relatime", disk_dev=DISK,
        size_bytes=total, free_bytes=free,
    )  # fmt: skip


def test_a_btrfs_that_is_nearly_full(judged: Judge) -> None:
    found = leads(judged(on_btrfs(50 * MIB)), "filesystem-full", 0.85)
    text = chain(found)
    assert tells(links_of(found)["filesystem-full.share"], "/srv")
    assert tells(text, "200", "9 ms")
    assert tells(text, "50 MiB", "2 GiB")
    assert fixes_of(found)[0] == "filesystem-full.delete-snapshots"
    assert "btrfs balance" in found.remedies[-1] and "tune2fs" not in str(found.remedies)


def test_what_the_compiler_inlined_shows_by_its_caller(judged: Judge) -> None:
    story = on_btrfs(50 * MIB, frames=("schedule", "btrfs_reserve_data_bytes", "vfs_write"))
    leads(judged(story), "filesystem-full", 0.85)


def test_a_btrfs_with_room_reserves_too(judged: Judge) -> None:
    """Each side of a tenth, and of ten chunks: 1 TiB of 100 is room."""
    tenth = 2 * GIB // 10
    leads(judged(on_btrfs(tenth)), "filesystem-full", 0.85)
    absent(judged(on_btrfs(tenth + 1)), "filesystem-full")
    leads(judged(on_btrfs(10 * GIB, 1000 * GIB)), "filesystem-full", 0.85)
    absent(judged(on_btrfs(10 * GIB + 1, 1000 * GIB)), "filesystem-full")


def test_not_where_it_is_not_known_how_much_is_left(judged: Judge) -> None:
    absent(judged(on_btrfs(None, None)), "filesystem-full")


def test_not_a_commit_of_a_full_btrfs(judged: Judge) -> None:
    absent(judged(on_btrfs(50 * MIB, frames=COMMIT)), "filesystem-full")


def test_a_remedy_is_of_its_filesystem(judged: Judge) -> None:
    for kind, has in (("ext4", True), ("xfs", False)):
        story = copier(NONDA)
        story.add("filesystems", dev=FS, kind=kind, mount="/srv", options="rw", disk_dev=DISK)
        found = leads(judged(story), "filesystem-full", 0.85)
        assert ("tune2fs" in str(found.remedies)) is has
