//! Limits of a group on its reads and writes.

use std::collections::BTreeMap;
use std::path::Path;

use crate::error::Result;
use iowhy_store::rows::{CgroupSamples, IoLimits};

use super::fields::optional;
use super::groups::{Group, Groups, Version};
use crate::dev;
use crate::proc_file::{number, Text};

/// The group that has the I/O controller.
pub(super) struct Io {
    pub group: Option<Group>,
    limits: Limits,
    /// What was given last.
    told: Limits,
}

/// Limits per second of each device, the tightest up the tree.
type Limits = BTreeMap<i64, IoLimits>;

impl Io {
    pub fn new(groups: &Groups) -> Io {
        Io {
            group: groups
                .with(("blkio", "blkio.throttle.read_bps_device"), "io.max")
                .cloned(),
            limits: Limits::new(),
            told: Limits::new(),
        }
    }

    pub fn read_limits(&mut self) -> Result<()> {
        let Some(group) = &self.group else {
            return Ok(());
        };
        self.limits.clear();
        for directory in group.up() {
            read(&mut self.limits, group.version, directory)?;
        }
        Ok(())
    }

    /// Puts the tightest limits on any device into the row.
    pub fn fill(&self, row: &mut CgroupSamples) {
        for limit in self.limits.values() {
            lower_to(&mut row.io_limit_read_bytes_per_s, limit.read_bytes_per_s);
            lower_to(&mut row.io_limit_write_bytes_per_s, limit.write_bytes_per_s);
            lower_to(&mut row.io_limit_read_ops_per_s, limit.read_ops_per_s);
            lower_to(&mut row.io_limit_write_ops_per_s, limit.write_ops_per_s);
        }
    }

    /// Gives the limits that are new; of a device that has none any more, that.
    pub fn changed(&mut self, mut out: impl FnMut(IoLimits)) {
        if self.limits == self.told {
            return;
        }
        for (device, limit) in &self.limits {
            if self.told.get(device) != Some(limit) {
                out(limit.clone());
            }
        }
        for device in self.told.keys() {
            if !self.limits.contains_key(device) {
                out(of(*device));
            }
        }
        self.told.clone_from(&self.limits);
    }
}

fn of(device: i64) -> IoLimits {
    IoLimits {
        dev: device,
        ..IoLimits::default()
    }
}

fn read(limits: &mut Limits, version: Version, directory: &Path) -> Result<()> {
    match version {
        Version::V1 => {
            for (name, of_row) in V1 {
                if let Some(mut file) = optional(&directory.join(name))? {
                    device_limits(file.read()?, limits, of_row)?;
                }
            }
        }
        Version::V2 => {
            if let Some(mut file) = optional(&directory.join("io.max"))? {
                io_max(file.read()?, limits)?;
            }
        }
    }
    Ok(())
}

type Column = fn(&mut IoLimits) -> &mut Option<i64>;

const V1: [(&str, Column); 4] = [
    ("blkio.throttle.read_bps_device", |row| {
        &mut row.read_bytes_per_s
    }),
    ("blkio.throttle.write_bps_device", |row| {
        &mut row.write_bytes_per_s
    }),
    ("blkio.throttle.read_iops_device", |row| {
        &mut row.read_ops_per_s
    }),
    ("blkio.throttle.write_iops_device", |row| {
        &mut row.write_ops_per_s
    }),
];

/// Lines `MAJOR:MINOR rbps=N wbps=max riops=N wiops=N`.
fn io_max(text: Text<'_>, limits: &mut Limits) -> Result<()> {
    for line in text.lines() {
        let mut words = line.words();
        let Some(device) = words.next().and_then(device_number) else {
            continue;
        };
        for word in words {
            let mut parts = word.splitn(2, |b| *b == b'=');
            let column: Column = match parts.next() {
                Some(b"rbps") => |row| &mut row.read_bytes_per_s,
                Some(b"wbps") => |row| &mut row.write_bytes_per_s,
                Some(b"riops") => |row| &mut row.read_ops_per_s,
                Some(b"wiops") => |row| &mut row.write_ops_per_s,
                _ => continue,
            };
            let value = parts.next().unwrap_or_default();
            if value != b"max" {
                let value = number(value).ok_or_else(|| line.error("expected a limit"))?;
                lower(limits, device, column, value);
            }
        }
    }
    Ok(())
}

/// Lines `MAJOR:MINOR N`.
fn device_limits(text: Text<'_>, limits: &mut Limits, column: Column) -> Result<()> {
    for line in text.lines() {
        let mut words = line.words();
        if let Some(device) = words.next().and_then(device_number) {
            lower(limits, device, column, words.number("a limit")?);
        }
    }
    Ok(())
}

/// Of `MAJOR:MINOR`.
fn device_number(word: &[u8]) -> Option<i64> {
    let colon = word.iter().position(|b| *b == b':')?;
    let part = |text| u64::try_from(number(text)?).ok();
    let (major, minor) = (part(&word[..colon])?, part(&word[colon + 1..])?);
    Some(dev(major & 0xfff, minor & 0xf_ffff))
}

fn lower(limits: &mut Limits, device: i64, column: Column, value: i64) {
    lower_to(
        column(limits.entry(device).or_insert_with(|| of(device))),
        Some(value),
    );
}

/// The lower of both, where there are two.
fn lower_to(limit: &mut Option<i64>, value: Option<i64>) {
    *limit = match (*limit, value) {
        (Some(known), Some(value)) => Some(known.min(value)),
        (known, value) => known.or(value),
    };
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_bytes(bytes: Vec<u8>) {
            let text = Text { path: Path::new("f"), bytes: &bytes };
            let _ = io_max(text, &mut Limits::new());
            let _ = device_limits(text, &mut Limits::new(), V1[0].1);
        }
    }
}
