//! The command's control group: CPU quota and throttling, memory, I/O limits; versions 1 and 2
//! (Documentation/admin-guide/cgroup-v1, cgroup-v2.rst).
//!
//! A limit may be set on any group up the tree and holds for all below. The limit that is reported is the
//! tightest that can be seen, and what is counted when it bites (throttled periods, limit hits) is taken
//! from the group that has it. In a container the groups above its own cannot be seen, except for the
//! memory limit of version 1, which the kernel reports for the whole tree.

use std::path::{Path, PathBuf};

use anyhow::{anyhow, Context, Result};
use iowhy_store::{rows::CgroupSamples, Name};

use crate::mounts::Mounts;
use crate::proc_file::{number, ProcFile, Text};
use crate::Roots;

/// Which of the two interfaces a controller is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Version {
    V1,
    V2,
}

/// The group of a process on one hierarchy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    pub version: Version,
    /// Its controllers (version 1), or those of the mounted tree (version 2: all).
    controllers: Vec<String>,
    /// Path in the hierarchy, as /proc/PID/cgroup tells it.
    pub path: String,
    pub directory: PathBuf,
    /// The mount point: the highest group that we see.
    top: PathBuf,
}

/// The groups of a process.
#[derive(Clone, Debug, Default)]
pub(crate) struct Groups(Vec<Group>);

impl Groups {
    /// Of `pid`, or of this process.
    pub fn of(roots: &Roots, mounts: &Mounts, pid: Option<i32>) -> Result<Groups> {
        let who = pid.map_or_else(|| "self".to_owned(), |pid| pid.to_string());
        let mut file = ProcFile::open(roots.proc.join(who).join("cgroup"))?;
        Ok(Groups(groups(file.read()?, mounts)?))
    }

    /// The group on a hierarchy: of version 1 by its controller, of version 2 the only one.
    pub fn find(&self, version: Version, controller: &str) -> Option<&Group> {
        self.0.iter().find(|group| {
            group.version == version
                && (version == Version::V2 || group.controllers.iter().any(|c| c == controller))
        })
    }

    /// The group that has a controller, found by a file that only it makes.
    fn with(&self, v1: (&str, &str), v2_file: &str) -> Option<&Group> {
        let old = self
            .find(Version::V1, v1.0)
            .filter(|g| g.directory.join(v1.1).exists());
        let new = || {
            self.find(Version::V2, "")
                .filter(|g| g.up().any(|d| d.join(v2_file).exists()))
        };
        old.or_else(new)
    }
}

/// The lines of /proc/PID/cgroup, `ID:CONTROLLERS:PATH`, each with where its hierarchy is mounted.
fn groups(text: Text<'_>, mounts: &Mounts) -> Result<Vec<Group>> {
    let mut found = Vec::new();
    for line in text.lines().filter(|line| !line.bytes.is_empty()) {
        let mut parts = line.bytes.splitn(3, |b| *b == b':');
        let (Some(id), Some(names), Some(path)) = (parts.next(), parts.next(), parts.next()) else {
            return Err(line.error("expected ID:CONTROLLERS:PATH"));
        };
        let names = crate::names::escaped(names);
        let path = crate::names::escaped(path);
        let controllers: Vec<String> = names
            .split(',')
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
            .collect();
        let version = if id == b"0" { Version::V2 } else { Version::V1 };
        let mount = mounts.iter().find(|mount| match version {
            Version::V2 => mount.kind == "cgroup2",
            Version::V1 => {
                mount.kind == "cgroup" && controllers.iter().all(|name| mount.has_option(name))
            }
        });
        let Some(mount) = mount else { continue };
        // The mount may show a part of the hierarchy (a container's); a group outside of it cannot be
        // seen, and the top of what is mounted comes nearest.
        let below = Path::new(&path)
            .strip_prefix(&mount.root)
            .unwrap_or(Path::new(""));
        let plain = below
            .components()
            .all(|c| matches!(c, std::path::Component::Normal(_)));
        let inside = mount.point.join(if plain { below } else { Path::new("") });
        let directory = if inside.is_dir() {
            inside
        } else {
            mount.point.clone()
        };
        let top = mount.point.clone();
        found.push(Group {
            version,
            controllers,
            path,
            directory,
            top,
        });
    }
    Ok(found)
}

impl Group {
    /// Its directory and those above it, up to the mount point.
    fn up(&self) -> impl Iterator<Item = &Path> {
        self.directory
            .ancestors()
            .take_while(|directory| directory.starts_with(&self.top))
    }
}

/// Samples the group of one process. Counters are read each time, limits every second.
pub(crate) struct Cgroup {
    path: Name,
    cpu: Option<Group>,
    memory: Option<Group>,
    io: Option<Group>,
    usage: Option<(Version, ProcFile)>,
    throttle: Option<(Version, ProcFile)>,
    quota_cores: Option<f64>,
    memory_usage: Option<ProcFile>,
    memory_stat: Option<(Version, ProcFile)>,
    memory_hits: Option<(Version, ProcFile)>,
    memory_limit: Option<i64>,
    io_limits: IoLimits,
    limits_read_ns: Option<i64>,
    membership: Membership,
}

/// Which groups the process is in; a launcher (a shell, a container's runtime) may move it after its start.
struct Membership {
    roots: Roots,
    pid: Option<i32>,
    file: ProcFile,
    text: Vec<u8>,
}

impl Membership {
    fn new(roots: &Roots, pid: Option<i32>) -> Result<Membership> {
        let who = pid.map_or_else(|| "self".to_owned(), |pid| pid.to_string());
        let mut file = ProcFile::open(roots.proc.join(who).join("cgroup"))?;
        let text = file.read()?.bytes.to_vec();
        Ok(Membership {
            roots: roots.clone(),
            pid,
            file,
            text,
        })
    }

    /// Whether it is in other groups than when this was made. One that has ended stays where it was.
    fn changed(&mut self) -> bool {
        self.file
            .read()
            .is_ok_and(|now| !now.bytes.is_empty() && now.bytes != self.text)
    }
}

const LIMITS_EVERY_NS: i64 = 1_000_000_000;

impl Cgroup {
    pub fn new(roots: &Roots, pid: Option<i32>) -> Result<Cgroup> {
        let mounts = Mounts::read(roots)?;
        let groups = Groups::of(roots, &mounts, pid)?;
        let cpu = groups.with(("cpu", "cpu.cfs_quota_us"), "cpu.max").cloned();
        let memory = groups
            .with(("memory", "memory.usage_in_bytes"), "memory.current")
            .cloned();
        let io = groups
            .with(("blkio", "blkio.throttle.read_bps_device"), "io.max")
            .cloned();
        let old_usage = groups
            .find(Version::V1, "cpuacct")
            .and_then(|g| ProcFile::open(g.directory.join("cpuacct.usage")).ok());
        let new_usage = || {
            let group = groups.find(Version::V2, "")?;
            ProcFile::open(group.directory.join("cpu.stat")).ok()
        };
        let usage = old_usage
            .map(|file| (Version::V1, file))
            .or_else(|| Some((Version::V2, new_usage()?)));
        if usage.is_none() && cpu.is_none() && memory.is_none() && io.is_none() {
            return Err(anyhow!("no cpu, memory or io controller is mounted"));
        }
        // On version 1 each controller may have its own group: name the one that is not the root.
        let path = [&memory, &cpu, &io]
            .into_iter()
            .flatten()
            .map(|group| group.path.clone())
            .find(|path| path != "/")
            .unwrap_or_else(|| "/".to_owned());
        let open = |group: &Option<Group>, v1: &str, v2: &str| {
            let group = group.as_ref()?;
            let name = if group.version == Version::V1 { v1 } else { v2 };
            Some((
                group.version,
                ProcFile::open(group.directory.join(name)).ok()?,
            ))
        };
        let memory_usage = open(&memory, "memory.usage_in_bytes", "memory.current").map(|f| f.1);
        let memory_stat = open(&memory, "memory.stat", "memory.stat");
        Ok(Cgroup {
            path: path.into(),
            cpu,
            memory,
            io,
            usage,
            throttle: None,
            quota_cores: None,
            memory_usage,
            memory_stat,
            memory_hits: None,
            memory_limit: None,
            io_limits: IoLimits::default(),
            limits_read_ns: None,
            membership: Membership::new(roots, pid)?,
        })
    }

    pub fn sample(&mut self, ts_ns: i64) -> Result<CgroupSamples> {
        if self.membership.changed() {
            *self = Cgroup::new(&self.membership.roots, self.membership.pid)?;
        }
        if self
            .limits_read_ns
            .is_none_or(|then| ts_ns - then >= LIMITS_EVERY_NS)
        {
            self.read_limits()?;
            self.limits_read_ns = Some(ts_ns);
        }
        let mut row = CgroupSamples {
            ts_ns,
            path: self.path.clone(),
            cpu_quota_cores: self.quota_cores,
            memory_limit_bytes: self.memory_limit,
            io_limit_read_bytes_per_s: self.io_limits.read_bytes,
            io_limit_write_bytes_per_s: self.io_limits.write_bytes,
            io_limit_read_ops_per_s: self.io_limits.read_ops,
            io_limit_write_ops_per_s: self.io_limits.write_ops,
            ..Default::default()
        };
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
        if let Some(file) = &mut self.memory_usage {
            row.memory_bytes = Some(file.read()?.number()?);
        }
        if let Some((version, file)) = &mut self.memory_stat {
            let text = file.read()?;
            // Version 1 counts the group alone, and with all below it as total_*; version 2 always all.
            let (cached, refaults): (&[u8], &[u8]) = match version {
                Version::V1 => (b"total_cache", b"total_workingset_refault_file"),
                Version::V2 => (b"file", b"workingset_refault_file"),
            };
            row.cached_bytes = field(text, cached)?;
            row.refault_file_pages = field(text, refaults)?;
        }
        if let Some((version, file)) = &mut self.memory_hits {
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
        Ok(row)
    }

    fn read_limits(&mut self) -> Result<()> {
        if let Some(group) = self.cpu.clone() {
            let (quota, at) = tightest(&group, quota_cores)?;
            self.quota_cores = quota;
            let file = at.unwrap_or(&group.directory).join("cpu.stat");
            self.throttle = ProcFile::open(file).ok().map(|file| (group.version, file));
        }
        if let Some(group) = self.memory.clone() {
            let (limit, at) = tightest(&group, memory_limit)?;
            // What lies above the mounted top is in the statistics of version 1 only.
            let whole_tree = match &mut self.memory_stat {
                Some((Version::V1, file)) => field(file.read()?, b"hierarchical_memory_limit")?,
                _ => None,
            };
            let whole_tree = whole_tree.filter(|bytes| *bytes < NO_LIMIT);
            self.memory_limit = [limit, whole_tree].into_iter().flatten().min();
            let name = match group.version {
                Version::V1 => "memory.failcnt",
                Version::V2 => "memory.events",
            };
            let file = at.unwrap_or(&group.directory).join(name);
            self.memory_hits = ProcFile::open(file).ok().map(|file| (group.version, file));
        }
        if let Some(group) = &self.io {
            self.io_limits = IoLimits::default();
            for directory in group.up() {
                self.io_limits.read(group.version, directory)?;
            }
        }
        Ok(())
    }
}

/// The smallest limit up the tree, and the group that has it; of equal ones the lowest.
fn tightest<T: PartialOrd + Copy>(
    group: &Group,
    limit: impl Fn(Version, &Path) -> Result<Option<T>>,
) -> Result<(Option<T>, Option<&Path>)> {
    let mut found: (Option<T>, Option<&Path>) = (None, None);
    for directory in group.up() {
        if let Some(value) = limit(group.version, directory)? {
            if found.0.is_none_or(|least| value < least) {
                found = (Some(value), Some(directory));
            }
        }
    }
    Ok(found)
}

/// The text of a file that not every group has (the root has no limits).
fn optional(path: &Path) -> Result<Option<ProcFile>> {
    match std::fs::File::open(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        _ => ProcFile::open(path).map(Some),
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
            let line = text.lines().next().context("a line")?;
            let mut words = line.words();
            if words.clone().next() == Some(b"max") {
                return Ok(None);
            }
            (words.number("a quota or max")?, words.number("a period")?)
        }
    };
    Ok((quota > 0 && period > 0).then(|| quota as f64 / period as f64))
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

/// The value of a line `KEY VALUE`.
fn field(text: Text<'_>, key: &[u8]) -> Result<Option<i64>> {
    for line in text.lines() {
        let mut words = line.words();
        if words.next() == Some(key) {
            return words.number("a number").map(Some);
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_bytes(bytes: Vec<u8>) {
            let text = Text { path: Path::new("f"), bytes: &bytes };
            let _ = groups(text, &Mounts::default());
            let _ = IoLimits::default().io_max(text);
            let _ = device_limits(text, &mut None);
            let _ = field(text, b"max");
        }
    }
}
