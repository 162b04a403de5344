//! Memory of a group, its limit, and how often that was hit.

use std::path::Path;

use crate::error::Result;
use iowhy_store::rows::CgroupSamples;

use super::fields::{field, optional, tightest};
use super::groups::{Group, Groups, Version};
use crate::proc_file::ProcFile;

/// The group that has the memory controller.
pub(super) struct Memory {
    pub group: Option<Group>,
    usage: Option<ProcFile>,
    stat: Option<(Version, ProcFile)>,
    hits: Option<(Version, ProcFile)>,
    limit_bytes: Option<i64>,
}

impl Memory {
    pub fn new(groups: &Groups) -> Memory {
        let group = groups
            .with(("memory", "memory.usage_in_bytes"), "memory.current")
            .cloned();
        let open = |v1: &str, v2: &str| {
            let group = group.as_ref()?;
            let name = if group.version == Version::V1 { v1 } else { v2 };
            let file = ProcFile::open(group.directory.join(name)).ok()?;
            Some((group.version, file))
        };
        Memory {
            usage: open("memory.usage_in_bytes", "memory.current").map(|(_, file)| file),
            stat: open("memory.stat", "memory.stat"),
            hits: None,
            limit_bytes: None,
            group,
        }
    }

    pub fn read_limits(&mut self) -> Result<()> {
        let Some(group) = &self.group else {
            return Ok(());
        };
        let (limit, at) = tightest(group, memory_limit)?;
        // What lies above the mounted top is in the statistics of version 1 only.
        let whole_tree = match &mut self.stat {
            Some((Version::V1, file)) => field(file.read()?, b"hierarchical_memory_limit")?,
            _ => None,
        };
        let whole_tree = whole_tree.filter(|bytes| *bytes < NO_LIMIT);
        self.limit_bytes = [limit, whole_tree].into_iter().flatten().min();
        let name = match group.version {
            Version::V1 => "memory.failcnt",
            Version::V2 => "memory.events",
        };
        let file = at.unwrap_or(&group.directory).join(name);
        self.hits = ProcFile::open(file).ok().map(|file| (group.version, file));
        Ok(())
    }

    /// Reads the counters, and puts them and the limit into the row.
    pub fn fill(&mut self, row: &mut CgroupSamples) -> Result<()> {
        row.memory_limit_bytes = self.limit_bytes;
        if let Some(file) = &mut self.usage {
            row.memory_bytes = Some(file.read()?.number()?);
        }
        if let Some((version, file)) = &mut self.stat {
            let text = file.read()?;
            // Version 1 counts the group alone, and with all below it as total_*; version 2 always all.
            let (cached, refaults): (&[u8], &[u8]) = match version {
                Version::V1 => (b"total_cache", b"total_workingset_refault_file"),
                Version::V2 => (b"file", b"workingset_refault_file"),
            };
            row.cached_bytes = field(text, cached)?;
            row.refault_file_pages = field(text, refaults)?;
        }
        if let Some((version, file)) = &mut self.hits {
            let text = file.read()?;
            row.memory_limit_hits = match version {
                Version::V1 => Some(text.number()?),
                // Counted at memory.high and at memory.max; the one that is not set stays at 0.
                Version::V2 => {
                    let (high, max) = (field(text, b"high")?, field(text, b"max")?);
                    max.map(|max| max.saturating_add(high.unwrap_or(0)))
                }
            };
        }
        Ok(())
    }
}

/// Version 1 prints "no limit" as the largest number of whole pages.
const NO_LIMIT: i64 = i64::MAX - (1 << 20);

fn memory_limit(version: Version, directory: &Path) -> Result<Option<i64>> {
    let names: &[&str] = match version {
        Version::V1 => &["memory.limit_in_bytes"],
        // At memory.high writers are throttled and reclaimed from, which is a limit in force too.
        Version::V2 => &["memory.max", "memory.high"],
    };
    let mut least: Option<i64> = None;
    for name in names {
        let Some(mut file) = optional(&directory.join(name))? else {
            continue;
        };
        let text = file.read()?;
        if text.bytes.trim_ascii() == b"max" {
            continue;
        }
        let bytes = text.number()?;
        if bytes < NO_LIMIT && least.is_none_or(|known| bytes < known) {
            least = Some(bytes);
        }
    }
    Ok(least)
}
