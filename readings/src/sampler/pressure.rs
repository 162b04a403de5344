//! Pressure stall information of the machine and of the command's cgroup (Documentation/accounting/psi.rst).

use std::path::Path;

use crate::error::{Error, Result};
use iowhy_store::rows::PressureSamples;
use iowhy_store::Name;

use crate::mounts::Mounts;
use crate::proc_file::{ProcFile, Text};
use crate::sampler::cgroup::{Groups, Version};
use crate::Roots;

pub(crate) struct Pressure {
    files: Vec<(Name, &'static str, ProcFile)>,
}

const RESOURCES: [&str; 3] = ["cpu", "io", "memory"];

impl Pressure {
    /// Fails where the kernel has none (no CONFIG_PSI, or started with psi=0).
    pub fn new(roots: &Roots, pid: Option<i32>) -> Result<Pressure> {
        let mut files = Vec::new();
        let mut why = None;
        for resource in RESOURCES {
            match open(&roots.proc.join("pressure").join(resource)) {
                Ok(file) => files.push(("machine".into(), resource, file)),
                Err(error) => why = Some(error),
            }
        }
        if let (Some(why), true) = (why, files.is_empty()) {
            return Err(Error::NoPressure(Box::new(why)));
        }
        let mounts = Mounts::read(roots).unwrap_or_default();
        let groups = Groups::of(roots, &mounts, pid).unwrap_or_default();
        // The root group's pressure is the machine's.
        let own = groups
            .find(Version::V2, "")
            .filter(|group| group.path != "/");
        for (group, resource) in own.iter().flat_map(|g| RESOURCES.map(|r| (*g, r))) {
            if let Ok(file) = open(&group.directory.join(format!("{resource}.pressure"))) {
                files.push((group.path.clone().into(), resource, file));
            }
        }
        Ok(Pressure { files })
    }

    pub fn sample(&mut self, ts_ns: i64, mut out: impl FnMut(PressureSamples)) -> Result<()> {
        for (scope, resource, file) in &mut self.files {
            parse(file.read()?, |kind, total_ns| {
                out(PressureSamples {
                    ts_ns,
                    scope: scope.clone(),
                    resource: Name::Borrowed(resource),
                    kind: kind.into(),
                    total_ns,
                });
            })?;
        }
        Ok(())
    }
}

/// Reads it once: with psi=0 it opens and then cannot be read.
fn open(path: &Path) -> Result<ProcFile> {
    let mut file = ProcFile::open(path)?;
    file.read()?;
    Ok(file)
}

/// Gives (some or full, total in ns) for each line.
pub(crate) fn parse(text: Text<'_>, mut out: impl FnMut(&'static str, i64)) -> Result<()> {
    for line in text.lines() {
        let mut words = line.words();
        let kind = match words.next() {
            None => continue,
            Some(b"some") => "some",
            Some(b"full") => "full",
            Some(_) => return Err(line.error("expected some or full")),
        };
        let total_us = words
            .find_map(|word| word.strip_prefix(b"total="))
            .and_then(crate::proc_file::number)
            .ok_or_else(|| line.error("expected total=N"))?;
        out(kind, total_us.saturating_mul(1000));
    }
    Ok(())
}
