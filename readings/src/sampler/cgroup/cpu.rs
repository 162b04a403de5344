//! CPU time of a group, its quota, and how it was throttled.

use std::path::Path;

use crate::error::Result;
use iowhy_store::rows::CgroupSamples;

use super::fields::{field, optional, tightest};
use super::groups::{Group, Groups, Version};
use crate::proc_file::ProcFile;

/// The group that has the CPU controller, and the one that counts CPU time.
pub(super) struct Cpu {
    pub group: Option<Group>,
    usage: Option<(Version, ProcFile)>,
    throttle: Option<(Version, ProcFile)>,
    quota_cores: Option<f64>,
}

impl Cpu {
    pub fn new(groups: &Groups) -> Cpu {
        let old_usage = groups
            .find(Version::V1, "cpuacct")
            .and_then(|g| ProcFile::open(g.directory.join("cpuacct.usage")).ok());
        let new_usage = || {
            let group = groups.find(Version::V2, "")?;
            ProcFile::open(group.directory.join("cpu.stat")).ok()
        };
        Cpu {
            group: groups.with(("cpu", "cpu.cfs_quota_us"), "cpu.max").cloned(),
            usage: old_usage
                .map(|file| (Version::V1, file))
                .or_else(|| Some((Version::V2, new_usage()?))),
            throttle: None,
            quota_cores: None,
        }
    }

    /// Whether there is anything to read.
    pub fn is_there(&self) -> bool {
        self.group.is_some() || self.usage.is_some()
    }

    pub fn read_limits(&mut self) -> Result<()> {
        let Some(group) = &self.group else {
            return Ok(());
        };
        let (quota, at) = tightest(group, quota_cores)?;
        self.quota_cores = quota;
        let file = at.unwrap_or(&group.directory).join("cpu.stat");
        self.throttle = ProcFile::open(file).ok().map(|file| (group.version, file));
        Ok(())
    }

    /// Reads the counters, and puts them and the quota into the row.
    pub fn fill(&mut self, row: &mut CgroupSamples) -> Result<()> {
        row.cpu_quota_cores = self.quota_cores;
        if let Some((version, file)) = &mut self.usage {
            let text = file.read()?;
            row.cpu_usage_ns = match version {
                Version::V1 => Some(text.number()?),
                Version::V2 => field(text, b"usage_usec")?.map(|us| us.saturating_mul(1000)),
            };
        }
        if let Some((version, file)) = &mut self.throttle {
            let text = file.read()?;
            row.cpu_periods = field(text, b"nr_periods")?;
            row.cpu_throttled_periods = field(text, b"nr_throttled")?;
            row.cpu_throttled_ns = match version {
                Version::V1 => field(text, b"throttled_time")?,
                Version::V2 => field(text, b"throttled_usec")?.map(|us| us.saturating_mul(1000)),
            };
        }
        Ok(())
    }
}

fn quota_cores(version: Version, directory: &Path) -> Result<Option<f64>> {
    let path = match version {
        Version::V1 => "cpu.cfs_quota_us",
        Version::V2 => "cpu.max",
    };
    let Some(mut file) = optional(&directory.join(path))? else {
        return Ok(None);
    };
    let text = file.read()?;
    let (quota, period) = match version {
        Version::V1 => {
            let quota = text.number()?;
            let Some(mut file) = optional(&directory.join("cpu.cfs_period_us"))? else {
                return Ok(None);
            };
            (quota, file.read()?.number()?)
        }
        Version::V2 => {
            let line = text.first_line();
            let mut words = line.words();
            if words.clone().next() == Some(b"max") {
                return Ok(None);
            }
            (words.number("a quota or max")?, words.number("a period")?)
        }
    };
    Ok((quota > 0 && period > 0).then(|| quota as f64 / period as f64))
}
