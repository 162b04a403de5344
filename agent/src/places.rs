//! The names of disks and filesystems, of which rows have the numbers.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;
use iowhy_readings::reach::Reach;
use iowhy_readings::{devices, filesystems, mounts::Mounts, Roots};

use crate::sink::Sink;

/// What has a row in the present recording, by number.
#[derive(Default)]
pub struct Places {
    pub devices: BTreeMap<i64, String>,
    pub mounts: BTreeMap<i64, String>,
    /// Disks that were looked for.
    asked: Vec<i64>,
}

impl Places {
    /// Of all that there is now.
    pub fn begin_recording(&mut self, sink: &mut Sink) -> Result<()> {
        *self = Places::default();
        self.read(sink)
    }

    /// Looks again where there is a disk that was not there before.
    pub fn know(&mut self, disks: impl Iterator<Item = i64>, sink: &mut Sink) -> Result<()> {
        let known = |dev: &i64| self.devices.contains_key(dev) || self.asked.contains(dev);
        let new: Vec<i64> = disks.filter(|dev| !known(dev)).collect();
        if new.is_empty() {
            return Ok(());
        }
        self.asked.extend(new);
        self.read(sink)
    }

    fn read(&mut self, sink: &mut Sink) -> Result<()> {
        let roots = Roots::default();
        let mounts = Mounts::read(&roots)?;
        for devices::Device { row, .. } in devices::all(&roots, &mounts).unwrap_or_default() {
            if self.devices.insert(row.dev, row.name.to_string()).is_none() {
                sink.push(row);
            }
        }
        let mut reach = Reach::new(&roots);
        let daemons = reach.daemons(&mounts);
        let mut space = |mount: &Path| reach.space(mount);
        for row in filesystems::rows(&roots, &mounts, &daemons, &mut space).unwrap_or_default() {
            if self.mounts.insert(row.dev, row.mount.to_string()).is_none() {
                sink.push(row);
            }
        }
        Ok(())
    }
}
