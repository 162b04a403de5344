//! Filesystems that lie on several devices by themselves, of a made-up machine.

mod made_sys;

use iowhy_readings::mounts::Mounts;
use iowhy_readings::{filesystems, Roots};
use made_sys::{put, put_devices, put_partitions};

const VDA: i64 = 254 << 20;

#[test]
fn a_filesystem_of_several_devices() {
    let files = tempfile::tempdir().unwrap();
    let root = files.path();
    put_devices(
        root,
        &[
            ("vda", "254:0"),
            ("vdb", "254:16"),
            ("loop0", "7:0"),
            ("loop1", "7:1"),
            ("loop3", "7:3"),
            ("cciss!c0d0", "104:0"),
        ],
    );
    put_partitions(
        root,
        &[
            ("vda", "vda1", "254:1"),
            ("vdb", "vdb1", "254:17"),
            ("vdb", "vdb2", "254:18"),
        ],
    );
    put(
        root,
        "proc/self/mountinfo",
        "1 1 254:1 / /own rw - ext4 /dev/vda1 rw\n\
         2 1 0:50 / /two rw - btrfs /dev/cciss/c0d0 rw\n\
         3 1 0:51 / /alone rw - btrfs /dev/loop0 rw\n\
         4 1 0:52 / /parts rw - btrfs /dev/vdb1 rw\n\
         5 1 0:53 / /unseen rw - btrfs /dev/mapper/gone rw\n\
         6 1 0:54 / /no_such rw - btrfs /dev/loop3 rw\n",
    );
    for device in [
        "aaaa/devices/vda1",
        "aaaa/devices/cciss!c0d0",
        "bbbb/devices/loop0",
        "cccc/devices/vdb1",
        "cccc/devices/vdb2",
        "dddd/devices/loop1",
        "dddd/devices/gone",
        "features/raid56",
    ] {
        put(root, &format!("sys/fs/btrfs/{device}"), "");
    }
    let roots = Roots {
        proc: root.join("proc"),
        sys: root.join("sys"),
        ..Roots::default()
    };
    let mounts = Mounts::read(&roots).unwrap();
    let all = filesystems::rows(&roots, &mounts, &Default::default(), &mut |_| None).unwrap();
    let several: Vec<_> = all
        .iter()
        .filter(|row| !row.disk_devs.is_empty())
        .map(|row| (&*row.mount, row.disk_dev, row.disk_devs.clone()))
        .collect();
    // Two partitions of one disk are on one.
    let expected = ("/two", Some(104 << 20), vec![104 << 20, VDA]);
    assert_eq!(several, [expected]);
}
