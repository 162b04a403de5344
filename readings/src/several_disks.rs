//! The disks of a filesystem that lies on several devices by itself.

use std::collections::BTreeSet;
use std::fs::read_dir;

use crate::devices::Disks;
use crate::mounts::Mount;
use crate::Roots;

/// The whole disks, in order. Empty: it lies on one, on none, or that cannot be known here.
pub fn of_mount(roots: &Roots, mount: &Mount, disks: &Disks) -> Vec<i64> {
    let found = match mount.kind.as_str() {
        "btrfs" => of_btrfs(roots, mount, disks).unwrap_or_default(),
        _ => BTreeSet::new(),
    };
    if found.len() > 1 {
        found.into_iter().collect()
    } else {
        Vec::new()
    }
}

/// btrfs lists the devices of each filesystem by their names (fs/btrfs/sysfs.c); the mount table names one of them.
fn of_btrfs(roots: &Roots, mount: &Mount, disks: &Disks) -> Option<BTreeSet<i64>> {
    let mounted = disks.number_of_file(mount.device_file()?)?;
    let filesystems = read_dir(roots.sys.join("fs/btrfs")).ok()?;
    filesystems.flatten().find_map(|filesystem| {
        let devices = read_dir(filesystem.path().join("devices")).ok()?;
        let numbers: Vec<i64> = devices
            .flatten()
            .filter_map(|device| {
                disks.number(&device.file_name().to_string_lossy().replace('!', "/"))
            })
            .collect();
        numbers.contains(&mounted).then(|| {
            numbers
                .into_iter()
                .filter_map(|number| disks.whole(number))
                .collect()
        })
    })
}
