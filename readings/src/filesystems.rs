//! Mounted filesystems.

use std::collections::BTreeMap;
use std::path::Path;

use crate::error::Result;
use iowhy_store::{rows, Name};

use crate::devices::Disks;
use crate::log_disks;
use crate::mounts::{Mount, Mounts};
use crate::reach::Space;
use crate::several_disks;
use crate::Roots;

/// Asks for the room of a filesystem by its mount point (statvfs(3)); one that hangs may not answer.
pub type AskSpace<'a> = &'a mut dyn FnMut(&Path) -> Option<Space>;

/// A row per mounted filesystem, by device number. One that is mounted several times is named by the mount
/// of its whole tree, and of several such by the first. `daemons` are the processes that serve some.
pub fn rows(
    roots: &Roots,
    mounts: &Mounts,
    daemons: &BTreeMap<i64, i64>,
    space: AskSpace<'_>,
) -> Result<Vec<rows::Filesystems>> {
    let disks = Disks::read(&roots.sys)?;
    Ok(naming_mounts(mounts)
        .into_values()
        .map(|mount| row(roots, mount, &disks, daemons, space))
        .collect())
}

/// Those of disks alone, for which no process has to be looked at.
pub fn on_disks(
    roots: &Roots,
    mounts: &Mounts,
    space: AskSpace<'_>,
) -> Result<Vec<rows::Filesystems>> {
    let disks = Disks::read(&roots.sys)?;
    let found = naming_mounts(mounts).into_values();
    let found = found.filter(|mount| disks.of_mount(mount).is_some());
    Ok(found
        .map(|mount| row(roots, mount, &disks, &BTreeMap::new(), space))
        .collect())
}

/// The mount that names each filesystem, by device number.
fn naming_mounts(mounts: &Mounts) -> BTreeMap<i64, &Mount> {
    let mut chosen: BTreeMap<i64, &Mount> = BTreeMap::new();
    for mount in mounts.iter() {
        let whole = |m: &Mount| m.root.as_os_str() == "/";
        let known = chosen.entry(mount.dev).or_insert(mount);
        if !whole(known) && whole(mount) {
            *known = mount;
        }
    }
    chosen
}

/// The processes that serve FUSE filesystems, by device number: who has /dev/fuse open, whose fdinfo names the
/// connection (fs/fuse/dev.c, since Linux 6.13). Processes that end meanwhile, or may not be looked at, are left out.
pub(crate) fn daemons(roots: &Roots) -> BTreeMap<i64, i64> {
    let mut found = BTreeMap::new();
    for process in std::fs::read_dir(&roots.proc)
        .into_iter()
        .flatten()
        .flatten()
    {
        let Some(tgid) = process
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok())
        else {
            continue;
        };
        for fd in std::fs::read_dir(process.path().join("fd"))
            .into_iter()
            .flatten()
            .flatten()
        {
            let device = std::fs::read_link(fd.path());
            if !device.is_ok_and(|path| path.as_os_str() == "/dev/fuse") {
                continue;
            }
            let info = process.path().join("fdinfo").join(fd.file_name());
            let text = std::fs::read_to_string(info).unwrap_or_default();
            let number = text
                .lines()
                .find_map(|line| line.strip_prefix("fuse_connection:"));
            if let Some(dev) = number.and_then(|number| number.trim().parse().ok()) {
                found.entry(dev).or_insert(tgid);
            }
        }
    }
    found
}

fn row(
    roots: &Roots,
    mount: &Mount,
    disks: &Disks,
    daemons: &BTreeMap<i64, i64>,
    space: AskSpace<'_>,
) -> rows::Filesystems {
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
    // Only local ones: statvfs(3) on a dead network filesystem would wait for ever.
    let local = disk_dev.is_some() || ["tmpfs", "ramfs"].contains(&mount.kind.as_str());
    let blocks = local.then(|| space(&mount.point)).flatten();
    let bytes = |units: i64, fs: &Space| units.checked_mul(fs.unit_bytes);
    rows::Filesystems {
        dev: mount.dev,
        kind: Name::Owned(mount.kind.clone()),
        mount: Name::Owned(crate::names::escaped(
            mount.point.as_os_str().as_encoded_bytes(),
        )),
        options: Name::Owned(options.join(",")),
        disk_dev,
        log_dev: log_disks::of_mount(roots, mount, disks),
        disk_devs: several_disks::of_mount(roots, mount, disks),
        daemon_tgid: daemons.get(&mount.dev).copied(),
        daemon_cpu_ns: None,
        daemon_peer: None,
        block_bytes: blocks.map(|fs| fs.block_bytes).filter(|bytes| *bytes > 0),
        // One that counts nothing (a tmpfs without a limit) has no blocks.
        size_bytes: blocks
            .and_then(|fs| bytes(fs.blocks, &fs))
            .filter(|bytes| *bytes > 0),
        free_bytes: blocks
            .filter(|fs| fs.blocks > 0)
            .and_then(|fs| bytes(fs.available, &fs)),
        unanswered_ns: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn who_has_a_connection_open_serves_its_filesystem() {
        let folder = tempfile::tempdir().unwrap();
        let roots = Roots {
            proc: folder.path().into(),
            ..Roots::default()
        };
        // Two connections of one process, another's device that is no connection yet, and a file.
        for (tgid, fd, target, info) in [
            (88, 3, "/dev/fuse", "flags:\t02\nfuse_connection:\t39\n"),
            (88, 4, "/dev/fuse", "fuse_connection:\t40\n"),
            (89, 3, "/dev/fuse", "flags:\t02\n"),
            (90, 5, "/dev/null", "fuse_connection:\t41\n"),
        ] {
            let process = folder.path().join(tgid.to_string());
            std::fs::create_dir_all(process.join("fd")).unwrap();
            std::fs::create_dir_all(process.join("fdinfo")).unwrap();
            symlink(target, process.join(format!("fd/{fd}"))).unwrap();
            std::fs::write(process.join(format!("fdinfo/{fd}")), info).unwrap();
        }
        std::fs::create_dir(folder.path().join("self")).unwrap();
        assert_eq!(daemons(&roots), BTreeMap::from([(39, 88), (40, 88)]));
    }
}
