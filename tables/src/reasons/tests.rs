//! Stacks of kernels, and what each shows to be waited for.

use super::*;

pub(super) fn reason(frames: &[&str]) -> String {
    of(frames).to_owned()
}

#[test]
fn the_innermost_cause_wins_over_the_call_that_led_there() {
    let fsync = [
        "schedule",
        "jbd2_log_wait_commit",
        "ext4_sync_file",
        "__x64_sys_fsync",
    ];
    assert_eq!(reason(&fsync), "journal_commit");
    let full = [
        "io_schedule",
        "blk_mq_get_tag",
        "ext4_sync_file",
        "filemap_fdatawrite",
    ];
    assert_eq!(reason(&full), "request_queue_full");
    let paused = [
        "io_schedule_timeout",
        "balance_dirty_pages.isra.0",
        "ext4_buffered_write_iter",
    ];
    assert_eq!(reason(&paused), "dirty_throttle");
}

#[test]
fn who_is_stopped_waits_for_nothing_that_it_asked_for() {
    for way in ["__refrigerator", "do_freezer_trap", "do_signal_stop"] {
        assert_eq!(reason(&["schedule", way, "request_wait_answer"]), "stopped");
    }
    assert_eq!(reason(&["do_nanosleep", "hrtimer_nanosleep"]), "stopped");
}

#[test]
fn a_lock_of_the_memory_map_is_not_one_of_an_inode() {
    assert_eq!(
        reason(&["rwsem_down_write_slowpath", "vm_mmap_pgoff"]),
        "memory_map_lock"
    );
    assert_eq!(
        reason(&["rwsem_down_write_slowpath", "ext4_buffered_write_iter"]),
        "inode_lock"
    );
}

#[test]
fn a_copy_waits_for_the_process_that_serves_the_file_or_for_the_other_end() {
    let file = [
        "request_wait_answer",
        "__fuse_simple_request",
        "fuse_direct_io",
        "copy_splice_read",
        "splice_direct_to_actor",
    ];
    assert_eq!(reason(&file), "fuse");
    let socket = [
        "schedule_timeout",
        "sock_alloc_send_pskb",
        "unix_stream_sendmsg",
        "splice_to_socket",
        "splice_direct_to_actor",
    ];
    assert_eq!(reason(&socket), "peer");
}

#[test]
fn sleep_that_a_signal_may_end_is_a_wait_only_where_such_waits_are() {
    let flush = ["request_wait_answer", "fuse_flush", "filp_close"];
    assert_eq!(of_any_kind(&flush), "fuse");
    assert_eq!(of_any_kind(&["handle_userfault"]), "userfault");
    for other in [
        // A socket that lingers, a terminal's line, and a mutex: its reason is one of waits that no signal ends.
        ["wait_woken", "sk_stream_wait_close", "tcp_close"],
        ["schedule_timeout", "tty_wait_until_sent", "tty_release"],
        ["__mutex_lock", "tty_release", "__fput"],
    ] {
        assert_eq!(of_any_kind(&other), SLEEP, "{other:?}");
    }
    assert_eq!(
        reason(&["__mutex_lock", "tty_release", "__fput"]),
        "inode_lock"
    );
}

#[test]
fn what_a_filesystem_does_for_room_is_no_wait_for_durability() {
    for (frames, expected) in [
        (
            &[
                "wb_wait_for_completion",
                "try_to_writeback_inodes_sb",
                "ext4_nonda_switch.isra.0",
                "ext4_da_write_begin",
            ][..],
            "make_room",
        ),
        (
            &["jbd2_log_wait_commit", "ext4_should_retry_alloc"],
            "make_room",
        ),
        (
            &[
                "sync_inodes_sb",
                "xfs_flush_inodes",
                "xfs_file_buffered_write",
            ],
            "make_room",
        ),
        (
            &["xfs_inodegc_flush", "xfs_blockgc_free_space"],
            "make_room",
        ),
        (
            &["f2fs_issue_flush", "f2fs_gc", "f2fs_balance_fs"],
            "make_room",
        ),
        // The same without a want of room.
        (
            &["wb_wait_for_completion", "sync_inodes_sb"],
            "page_writeback",
        ),
        (
            &["jbd2_log_wait_commit", "ext4_sync_file"],
            "journal_commit",
        ),
        (&["f2fs_issue_flush", "f2fs_sync_file"], "device_flush"),
        (
            &["__reserve_bytes", "btrfs_reserve_data_bytes"],
            "journal_space",
        ),
    ] {
        assert_eq!(reason(frames), expected, "{frames:?}");
    }
}

#[test]
fn what_happens_to_blocks_is_distinguished() {
    for (frames, expected) in [
        // fstrim on ext4 and XFS, mkfs, and zeroing in place.
        (
            &["submit_bio_wait", "blkdev_issue_discard", "ext4_trim_fs"][..],
            "discard",
        ),
        (&["wait_for_completion", "xfs_discard_extents"], "discard"),
        (
            &["submit_bio_wait", "blkdev_issue_zeroout", "ext4_map_blocks"],
            "discard",
        ),
        (&["submit_bio_wait", "blkdev_issue_flush"], "device_flush"),
        // fstrim reads the maps of free space first.
        (
            &["bit_wait_io", "ext4_wait_block_bitmap", "ext4_trim_fs"],
            "metadata_read",
        ),
        // A block of the filesystem's own: read, locked, written, or pinned by the log.
        (&["xfs_buf_iowait", "xfs_buf_read_map"], "metadata_read"),
        (
            &["xfs_buf_lock", "xfs_buf_find_lock", "xfs_buf_read_map"],
            "metadata_lock",
        ),
        (&["xfs_buf_iowait", "xfs_bwrite"], "page_writeback"),
        (
            &["__wait_on_buffer", "__sync_dirty_buffer"],
            "page_writeback",
        ),
        (&["xfs_buf_wait_unpin", "xfs_buf_submit"], "log_force"),
        (&["__wait_on_buffer", "ext4_bread"], "metadata_read"),
    ] {
        assert_eq!(reason(frames), expected, "{frames:?}");
    }
}

#[test]
fn a_page_of_the_filesystems_own_that_is_being_read_is_metadata() {
    for (frames, expected) in [
        (
            &["__folio_lock", "__get_node_folio", "f2fs_iget"][..],
            "metadata_read",
        ),
        (
            &["__lock_page", "__get_node_page.isra.0", "f2fs_lookup"],
            "metadata_read",
        ),
        (
            &["folio_wait_bit_common", "f2fs_find_entry", "f2fs_lookup"],
            "metadata_read",
        ),
        // The same pages: written, and looked for under a lock.
        (
            &["folio_wait_writeback", "__get_node_folio"],
            "page_writeback",
        ),
        (
            &["rwsem_down_read_slowpath", "__get_node_folio"],
            "inode_lock",
        ),
        (&["__folio_lock", "truncate_inode_pages_range"], "page_lock"),
        // btrfs send reads pages ahead and waits for each by its lock.
        (&["__filemap_get_folio", "send_extent_data"], "page_lock"),
        (&["shrink_node", "__filemap_get_folio"], "memory_reclaim"),
    ] {
        assert_eq!(reason(frames), expected, "{frames:?}");
    }
}

#[test]
fn what_removed_files_had_taken_is_given_back_by_a_worker() {
    let unlink = [
        "wait_for_completion",
        "__flush_work",
        "flush_delayed_work",
        "xfs_inode_mark_reclaimable",
        "destroy_inode",
        "do_unlinkat",
    ];
    assert_eq!(reason(&unlink), "inode_freeing");
    // As Linux 6.18 shows it.
    let tail = [
        "schedule_timeout",
        "wait_for_completion",
        "__flush_work",
        "destroy_inode",
        "vfs_rmdir",
    ];
    assert_eq!(reason(&tail), "inode_freeing");
    // For want of space, for want of memory, and a worker of something else.
    let room = [
        "__flush_work",
        "xfs_inodegc_flush",
        "xfs_blockgc_free_space",
    ];
    assert_eq!(reason(&room), "make_room");
    let memory = ["__flush_work", "xfs_inode_mark_reclaimable", "shrink_node"];
    assert_eq!(reason(&memory), "memory_reclaim");
    assert_eq!(
        reason(&["__flush_work", "lru_add_drain_all"]),
        "kernel_sync"
    );
}

#[test]
fn direct_io_waits_for_its_data_or_first_for_where_it_lies() {
    let data = ["blk_io_schedule", "__iomap_dio_rw", "iomap_dio_rw"];
    assert_eq!(reason(&data), "direct_io");
    let map = [
        "__wait_on_buffer",
        "__read_extent_tree_block",
        "ext4_iomap_begin",
        "__iomap_dio_rw",
    ];
    assert_eq!(reason(&map), "metadata_read");
    // What the page cache has of the same range is written first; nobody asked for it to be durable.
    for frames in [
        [
            "folio_wait_writeback",
            "filemap_write_and_wait_range.part.0",
            "kiocb_invalidate_pages",
            "blkdev_write_iter",
        ],
        [
            "folio_wait_writeback",
            "__filemap_fdatawait_range",
            "generic_file_direct_write",
            "__generic_file_write_iter",
        ],
    ] {
        assert_eq!(reason(&frames), "direct_io");
    }
    let raw = [
        "folio_wait_writeback",
        "__filemap_fdatawait_range",
        "blkdev_fsync",
    ];
    assert_eq!(reason(&raw), "page_writeback");
}

#[test]
fn locks_of_btrfs_are_those_of_a_file_or_of_a_tree() {
    assert_eq!(
        reason(&["btrfs_lock_extent_bits", "btrfs_page_mkwrite"]),
        "inode_lock"
    );
    assert_eq!(
        reason(&["rwsem_down_write_slowpath", "btrfs_tree_lock_nested"]),
        "metadata_lock"
    );
    // The range is locked, but what is waited for is the data in it.
    let ordered = [
        "btrfs_start_ordered_extent_nowriteback",
        "btrfs_lock_and_flush_ordered_range",
    ];
    assert_eq!(reason(&ordered), "page_writeback");
}

#[test]
fn writing_to_a_page_under_way_is_no_wait_for_durability() {
    for frames in [
        &[
            "folio_wait_writeback",
            "folio_wait_stable",
            "iomap_write_begin",
        ][..],
        &[
            "folio_wait_writeback",
            "btrfs_page_mkwrite",
            "do_page_mkwrite",
        ],
        &["btrfs_start_ordered_extent_nowriteback", "copy_one_range"],
    ] {
        assert_eq!(reason(frames), "stable_page", "{frames:?}");
    }
    let durable = [
        "folio_wait_writeback",
        "__filemap_fdatawait_range",
        "btrfs_sync_file",
    ];
    assert_eq!(reason(&durable), "page_writeback");
}

#[test]
fn a_write_behind_a_commit_is_not_one_that_is_to_be_durable() {
    let shadow = [
        "bit_wait_io",
        "do_get_write_access",
        "ext4_dirty_inode",
        "file_update_time",
    ];
    assert_eq!(reason(&shadow), "journal_space");
    // XFS: freed blocks that the log has still to write, a pinned block that is to be used again, and an fsync.
    for (frames, expected) in [
        (
            &[
                "xlog_wait_on_iclog",
                "xfs_log_force",
                "xfs_extent_busy_flush",
            ][..],
            "journal_space",
        ),
        (
            &["xlog_wait_on_iclog", "xfs_log_force", "xfs_buf_lock"],
            "journal_space",
        ),
        (
            &["xlog_wait_on_iclog", "xfs_log_force_seq", "xfs_file_fsync"],
            "log_force",
        ),
    ] {
        assert_eq!(reason(frames), expected, "{frames:?}");
    }
    let sync = ["wait_for_completion", "__flush_workqueue", "ext4_sync_fs"];
    assert_eq!(reason(&sync), "page_writeback");
}

#[test]
fn another_process_or_server_is_named() {
    assert_eq!(
        reason(&["handle_userfault", "handle_mm_fault"]),
        "userfault"
    );
    assert_eq!(reason(&["request_wait_answer", "fuse_readahead"]), "fuse");
    assert_eq!(
        reason(&["folio_wait_bit_common", "nfs_read_folio", "filemap_read"]),
        "network_filesystem"
    );
    assert_eq!(
        reason(&["wait_on_commit", "__nfs_commit_inode", "nfs_file_fsync"]),
        "network_filesystem"
    );
    assert_eq!(
        reason(&["folio_wait_bit_common", "shmem_swapin_folio"]),
        "swap"
    );
}

#[test]
fn what_is_not_known_is_other() {
    assert_eq!(reason(&[]), OTHER);
    assert_eq!(reason(&["nfs4_proc_open"]), "network_filesystem");
    assert_eq!(reason(&["no_such_function"]), OTHER);
}

#[test]
fn the_scheduler_is_no_reason() {
    for frame in [
        "bpf_prog_1",
        "bpf_trace_run4",
        "__schedule",
        "trace_x.isra.0",
    ] {
        assert!(is_scheduler(frame), "{frame}");
    }
    assert!(!is_scheduler("schedule") && !is_scheduler("io_schedule"));
}
