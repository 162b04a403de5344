//! Files of a made-up machine: its block devices as /sys has them.

use std::path::Path;

pub fn put(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// Name and number of each.
pub fn put_devices(root: &Path, devices: &[(&str, &str)]) {
    for (name, number) in devices {
        put(root, &format!("sys/block/{name}/dev"), number);
    }
}

/// Disk, name and number of each.
pub fn put_partitions(root: &Path, partitions: &[(&str, &str, &str)]) {
    for (disk, part, number) in partitions {
        put(root, &format!("sys/block/{disk}/{part}/dev"), number);
        put(root, &format!("sys/block/{disk}/{part}/partition"), "1\n");
    }
}
