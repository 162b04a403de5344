//! Which filesystems have a disk: files of the others lie nowhere, and to open them may ask a process or a server.

use std::collections::HashMap;

use iowhy_readings::devices::Disks;
use iowhy_readings::mounts::{Mount, Mounts};
use iowhy_readings::Roots;

/// By device number, as they were met.
#[derive(Default)]
pub struct Disked(HashMap<u32, Option<Lies>>);

/// Where the files of a filesystem lie.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lies {
    OnDisk,
    /// In memory, or on another filesystem of the kernel's own.
    InKernel,
    /// With a process or a server.
    Elsewhere,
}

/// Filesystems without a disk that nobody has to be asked for.
const IN_KERNEL: [&str; 6] = ["tmpfs", "ramfs", "devtmpfs", "overlay", "squashfs", "erofs"];

impl Disked {
    /// Whether it has a disk, as far as can be seen: what is mounted elsewhere only may have.
    pub fn has(&mut self, dev: u32) -> bool {
        matches!(self.of(dev), None | Some(Lies::OnDisk))
    }

    /// Whether a process or a server has its files.
    pub fn is_served(&mut self, dev: u32) -> bool {
        self.of(dev) == Some(Lies::Elsewhere)
    }

    fn of(&mut self, dev: u32) -> Option<Lies> {
        *self.0.entry(dev).or_insert_with(|| look(dev))
    }
}

/// None: it is mounted nowhere that is seen from here.
fn look(dev: u32) -> Option<Lies> {
    let roots = Roots::default();
    let disks = Disks::read(&roots.sys).ok()?;
    let mounts = Mounts::read(&roots).ok()?;
    let mount = mounts.iter().find(|mount| mount.dev == i64::from(dev))?;
    let has_disk = |mount: &Mount| mount.device_file().is_some() || disks.of_mount(mount).is_some();
    Some(match mount.kind.as_str() {
        _ if mount.is_fuse() => Lies::Elsewhere,
        _ if has_disk(mount) => Lies::OnDisk,
        kind if IN_KERNEL.contains(&kind) => Lies::InKernel,
        _ => Lies::Elsewhere,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_filesystems_in_memory_have_no_disk_and_ask_nobody() {
        let mounts = Mounts::read(&Roots::default()).unwrap();
        let mut disks = Disked::default();
        for mount in mounts.iter().filter(|mount| mount.kind == "tmpfs") {
            let dev = u32::try_from(mount.dev).unwrap();
            assert!(!disks.has(dev) && !disks.is_served(dev), "{mount:?}");
        }
        // Nothing is known of what is mounted nowhere.
        assert!(disks.has(u32::MAX) && !disks.is_served(u32::MAX));
    }
}
