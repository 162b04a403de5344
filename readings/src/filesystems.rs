//! Mounted filesystems.

use std::collections::BTreeMap;

use crate::error::Result;
use iowhy_store::{rows, Name};

use crate::devices::Disks;
use crate::mounts::{Mount, Mounts};
use crate::Roots;

/// A row per mounted filesystem, by device number. One that is mounted several times is named by the mount
/// of its whole tree, and of several such by the first.
pub fn rows(roots: &Roots, mounts: &Mounts) -> Result<Vec<rows::Filesystems>> {
    let disks = Disks::read(&roots.sys)?;
    let mut chosen: BTreeMap<i64, &Mount> = BTreeMap::new();
    for mount in mounts.iter() {
        let whole = |m: &Mount| m.root.as_os_str() == "/";
        let known = chosen.entry(mount.dev).or_insert(mount);
        if !whole(known) && whole(mount) {
            *known = mount;
        }
    }
    Ok(chosen
        .into_values()
        .map(|mount| row(mount, &disks))
        .collect())
}

fn row(mount: &Mount, disks: &Disks) -> rows::Filesystems {
    let mut options: Vec<&str> = Vec::new();
    for option in mount
        .options
        .split(',')
        .chain(mount.super_options.split(','))
    {
        if !option.is_empty() && !options.contains(&option) {
            options.push(option);
        }
    }
    let disk_dev = disks.of_mount(mount);
    // Only local ones: statfs(2) on a dead network filesystem would wait for ever.
    let local = disk_dev.is_some() || ["tmpfs", "ramfs"].contains(&mount.kind.as_str());
    let blocks = local
        .then(|| nix::sys::statfs::statfs(&mount.point).ok())
        .flatten();
    rows::Filesystems {
        dev: mount.dev,
        kind: Name::Owned(mount.kind.clone()),
        mount: Name::Owned(crate::names::escaped(
            mount.point.as_os_str().as_encoded_bytes(),
        )),
        options: Name::Owned(options.join(",")),
        disk_dev,
        block_bytes: blocks.map(|fs| fs.block_size()).filter(|bytes| *bytes > 0),
    }
}
