//! Limits of a group on its reads and writes.

use std::path::Path;

use crate::error::Result;
use iowhy_store::rows::CgroupSamples;

use super::fields::optional;
use super::groups::{Group, Groups, Version};
use crate::proc_file::{number, Text};

/// The group that has the I/O controller.
pub(super) struct Io {
    pub group: Option<Group>,
    limits: IoLimits,
}

impl Io {
    pub fn new(groups: &Groups) -> Io {
        Io {
            group: groups
                .with(("blkio", "blkio.throttle.read_bps_device"), "io.max")
                .cloned(),
            limits: IoLimits::default(),
        }
    }

    pub fn read_limits(&mut self) -> Result<()> {
        let Some(group) = &self.group else {
            return Ok(());
        };
        self.limits = IoLimits::default();
        for directory in group.up() {
            self.limits.read(group.version, directory)?;
        }
        Ok(())
    }

    /// Puts the limits into the row.
    pub fn fill(&self, row: &mut CgroupSamples) {
        row.io_limit_read_bytes_per_s = self.limits.read_bytes;
        row.io_limit_write_bytes_per_s = self.limits.write_bytes;
        row.io_limit_read_ops_per_s = self.limits.read_ops;
        row.io_limit_write_ops_per_s = self.limits.write_ops;
    }
}

/// The tightest limits per second, on any device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct IoLimits {
    read_bytes: Option<i64>,
    write_bytes: Option<i64>,
    read_ops: Option<i64>,
    write_ops: Option<i64>,
}

impl IoLimits {
    fn read(&mut self, version: Version, directory: &Path) -> Result<()> {
        match version {
            Version::V1 => {
                for (name, limit) in [
                    ("blkio.throttle.read_bps_device", &mut self.read_bytes),
                    ("blkio.throttle.write_bps_device", &mut self.write_bytes),
                    ("blkio.throttle.read_iops_device", &mut self.read_ops),
                    ("blkio.throttle.write_iops_device", &mut self.write_ops),
                ] {
                    if let Some(mut file) = optional(&directory.join(name))? {
                        device_limits(file.read()?, limit)?;
                    }
                }
            }
            Version::V2 => {
                if let Some(mut file) = optional(&directory.join("io.max"))? {
                    self.io_max(file.read()?)?;
                }
            }
        }
        Ok(())
    }

    /// Lines `MAJOR:MINOR rbps=N wbps=max riops=N wiops=N`.
    fn io_max(&mut self, text: Text<'_>) -> Result<()> {
        for line in text.lines() {
            for word in line.words().skip(1) {
                let mut parts = word.splitn(2, |b| *b == b'=');
                let limit = match parts.next() {
                    Some(b"rbps") => &mut self.read_bytes,
                    Some(b"wbps") => &mut self.write_bytes,
                    Some(b"riops") => &mut self.read_ops,
                    Some(b"wiops") => &mut self.write_ops,
                    _ => continue,
                };
                let value = parts.next().unwrap_or_default();
                if value != b"max" {
                    let value = number(value).ok_or_else(|| line.error("expected a limit"))?;
                    lower(limit, value);
                }
            }
        }
        Ok(())
    }
}

/// Lines `MAJOR:MINOR N`.
fn device_limits(text: Text<'_>, limit: &mut Option<i64>) -> Result<()> {
    for line in text.lines() {
        let mut words = line.words();
        if words.next().is_some_and(|device| device.contains(&b':')) {
            lower(limit, words.number("a limit")?);
        }
    }
    Ok(())
}

fn lower(limit: &mut Option<i64>, value: i64) {
    *limit = Some(limit.map_or(value, |known| known.min(value)));
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_bytes(bytes: Vec<u8>) {
            let text = Text { path: Path::new("f"), bytes: &bytes };
            let _ = IoLimits::default().io_max(text);
            let _ = device_limits(text, &mut None);
        }
    }
}
