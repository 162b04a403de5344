//! Which filesystems have a disk: files of the others lie nowhere, and to open them may ask a process or a server.

use std::collections::HashMap;

use iowhy_readings::devices::Disks;
use iowhy_readings::mounts::{Mount, Mounts};
use iowhy_readings::Roots;

/// By device number, as it was met.
#[derive(Default)]
pub struct Disked(HashMap<u32, bool>);

impl Disked {
    /// Whether it has one, as far as can be seen: what is mounted elsewhere only may have.
    pub fn has(&mut self, dev: u32) -> bool {
        *self
            .0
            .entry(dev)
            .or_insert_with(|| look(dev).unwrap_or(true))
    }
}

fn look(dev: u32) -> Option<bool> {
    let roots = Roots::default();
    let disks = Disks::read(&roots.sys).ok()?;
    let mounts = Mounts::read(&roots).ok()?;
    let mut known = mounts
        .iter()
        .filter(|mount| mount.dev == i64::from(dev))
        .peekable();
    known.peek()?;
    let has = |mount: &Mount| {
        !mount.is_fuse() && (mount.device_file().is_some() || disks.of_mount(mount).is_some())
    };
    Some(known.any(has))
}
