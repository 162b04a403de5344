//! Writes of a part of a block, and what looks like them.

use super::tests::reason;

#[test]
fn a_block_is_read_because_a_part_of_it_is_written() {
    // ext4, XFS and btrfs of Linux 6.18, as recorded; f2fs, and btrfs before 6.13, by their source.
    for frames in [
        &[
            "out_of_line_wait_on_bit",
            "__wait_on_buffer",
            "ext4_block_write_begin",
            "vfs_write",
        ][..],
        // Without the function that the compiler has inlined.
        &[
            "out_of_line_wait_on_bit",
            "ext4_block_write_begin",
            "ext4_da_write_begin",
        ],
        &[
            "submit_bio_wait",
            "iomap_read_folio_range",
            "iomap_write_begin",
            "xfs_file_buffered_write",
        ],
        &["__folio_lock", "prepare_one_folio", "btrfs_buffered_write"],
        &["__lock_page", "prepare_pages", "btrfs_buffered_write"],
        &["__folio_lock", "f2fs_write_begin", "generic_perform_write"],
    ] {
        assert_eq!(reason(frames), "partial_write", "{frames:?}");
    }
}

#[test]
fn a_write_waits_for_other_things_too() {
    for (frames, expected) in [
        // Where the block lies is read first.
        (
            &[
                "out_of_line_wait_on_bit",
                "__read_extent_tree_block",
                "ext4_map_blocks",
                "ext4_block_write_begin",
            ][..],
            "metadata_read",
        ),
        // Somebody else has the page locked, or writes it.
        (
            &[
                "__folio_lock",
                "__filemap_get_folio",
                "prepare_one_folio",
                "btrfs_buffered_write",
            ],
            "page_lock",
        ),
        (
            &["folio_wait_stable", "prepare_one_folio", "vfs_write"],
            "stable_page",
        ),
        // What is written lies in a mapped file that has to be read.
        (
            &[
                "folio_wait_bit_common",
                "filemap_fault",
                "fault_in_readable",
                "iomap_file_buffered_write",
            ],
            "page_read",
        ),
        // The end of a file that is cut off within a block.
        (
            &[
                "__wait_on_buffer",
                "__ext4_block_zero_page_range",
                "ext4_truncate",
            ],
            "page_read",
        ),
        (
            &[
                "submit_bio_wait",
                "iomap_write_begin",
                "iomap_zero_range",
                "xfs_setattr_size",
            ],
            "page_read",
        ),
    ] {
        assert_eq!(reason(frames), expected, "{frames:?}");
    }
}

#[test]
fn a_writer_that_may_not_enter_waits_for_a_thaw_and_no_lock() {
    for caller in [
        "mnt_want_write",
        "vfs_write",
        "do_page_mkwrite",
        "xfs_trans_alloc",
    ] {
        let frames = ["percpu_rwsem_wait", "__percpu_down_read", caller];
        assert_eq!(reason(&frames), "frozen", "{caller}");
    }
    let others = ["percpu_rwsem_wait", "__percpu_down_read", "copy_process"];
    assert_eq!(reason(&others), "inode_lock");
}
