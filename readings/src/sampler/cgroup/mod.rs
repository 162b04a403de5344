//! The command's control group: CPU quota and throttling, memory, I/O limits; versions 1 and 2
//! (Documentation/admin-guide/cgroup-v1, cgroup-v2.rst).
//!
//! A limit may be set on any group up the tree and holds for all below. The limit that is reported is the
//! tightest that can be seen, and what is counted when it bites (throttled periods, limit hits) is taken
//! from the group that has it. In a container the groups above its own cannot be seen, except for the
//! memory limit of version 1, which the kernel reports for the whole tree.

mod cpu;
mod fields;
mod groups;
mod io;
mod memory;

use crate::error::{Error, Result};
use iowhy_store::rows::{CgroupSamples, IoLimits};
use iowhy_store::Name;

pub(crate) use groups::{Groups, Version};

use crate::mounts::Mounts;
use crate::Roots;
use groups::Membership;

/// Samples the group of one process. Counters are read each time, limits every second.
pub(crate) struct Cgroup {
    path: Name,
    cpu: cpu::Cpu,
    memory: memory::Memory,
    io: io::Io,
    limits_read_ns: Option<i64>,
    membership: Membership,
}

const LIMITS_EVERY_NS: i64 = 1_000_000_000;

impl Cgroup {
    pub fn new(roots: &Roots, pid: Option<i32>) -> Result<Cgroup> {
        let mounts = Mounts::read(roots)?;
        let groups = Groups::of(roots, &mounts, pid)?;
        let cpu = cpu::Cpu::new(&groups);
        let memory = memory::Memory::new(&groups);
        let io = io::Io::new(&groups);
        if !cpu.is_there() && memory.group.is_none() && io.group.is_none() {
            return Err(Error::NoController);
        }
        // On version 1 each controller may have its own group: name the one that is not the root.
        let path = [&memory.group, &cpu.group, &io.group]
            .into_iter()
            .flatten()
            .map(|group| group.path.clone())
            .find(|path| path != "/")
            .unwrap_or_else(|| "/".to_owned());
        Ok(Cgroup {
            path: path.into(),
            cpu,
            memory,
            io,
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
            self.cpu.read_limits()?;
            self.memory.read_limits()?;
            self.io.read_limits()?;
            self.limits_read_ns = Some(ts_ns);
        }
        let mut row = CgroupSamples {
            ts_ns,
            path: self.path.clone(),
            ..Default::default()
        };
        self.cpu.fill(&mut row)?;
        self.memory.fill(&mut row)?;
        self.io.fill(&mut row);
        Ok(row)
    }

    /// Limits of devices that are not the ones that were given last.
    pub fn new_io_limits(&mut self, ts_ns: i64, mut out: impl FnMut(IoLimits)) {
        self.io.changed(|row| {
            out(IoLimits {
                ts_ns,
                path: self.path.clone(),
                ..row
            });
        });
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use proptest::prelude::*;

    use super::*;
    use crate::proc_file::Text;

    proptest! {
        #[test]
        fn any_bytes(bytes: Vec<u8>) {
            let text = Text { path: Path::new("f"), bytes: &bytes };
            let _ = groups::groups(text, &Mounts::default());
            let _ = fields::field(text, b"max");
        }
    }
}
