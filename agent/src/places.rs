//! The names of disks and filesystems, of which rows have the numbers.

use std::collections::BTreeMap;

use anyhow::Result;
use iowhy_readings::{devices, filesystems, mounts::Mounts, Roots};
use iowhy_store::Recording;

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
    pub fn begin_recording(&mut self, recording: &mut Recording) -> Result<()> {
        *self = Places::default();
        self.read(recording)
    }

    /// Looks again where there is a disk that was not there before.
    pub fn know(
        &mut self,
        disks: impl Iterator<Item = i64>,
        recording: &mut Recording,
    ) -> Result<()> {
        let known = |dev: &i64| self.devices.contains_key(dev) || self.asked.contains(dev);
        let new: Vec<i64> = disks.filter(|dev| !known(dev)).collect();
        if new.is_empty() {
            return Ok(());
        }
        self.asked.extend(new);
        self.read(recording)
    }

    fn read(&mut self, recording: &mut Recording) -> Result<()> {
        let roots = Roots::default();
        let mounts = Mounts::read(&roots)?;
        for row in devices::rows(&roots, &mounts).unwrap_or_default() {
            if self.devices.insert(row.dev, row.name.to_string()).is_none() {
                recording.push(row)?;
            }
        }
        for row in filesystems::rows(&roots, &mounts).unwrap_or_default() {
            if self.mounts.insert(row.dev, row.mount.to_string()).is_none() {
                recording.push(row)?;
            }
        }
        Ok(())
    }
}
