//! Readings of the whole machine and of the command's cgroup, ten times a second: one module per source.
//! Files stay open and are read anew in place, so that a round costs a fraction of a millisecond.

pub(crate) mod cgroup;
pub(crate) mod cpu;
pub(crate) mod disk;
pub(crate) mod kernel_log;
pub(crate) mod memory;
pub(crate) mod pressure;
pub mod process_io;
pub(crate) mod remote;
pub(crate) mod vm;
pub(crate) mod volume_limits;

use crate::error::Result;
use iowhy_store::manifest::Sensor;

use crate::proc_file::ProcFile;
use crate::{Reading, Roots};

/// Whose cgroup is sampled.
#[derive(Clone, Copy, Debug, Default)]
pub struct Scope {
    /// A process of the command; None: this process, whose group a child inherits.
    pub pid: Option<i32>,
}

/// All samplers. One that cannot run here, or that fails later, is off; the others go on.
pub struct Samplers {
    stat: Source<Stat>,
    memory: Source<ProcFile>,
    disk: Source<disk::Disk>,
    pressure: Source<pressure::Pressure>,
    cgroup: Source<cgroup::Cgroup>,
    remote: Source<remote::Remote>,
    log: Source<kernel_log::KernelLog>,
    volumes: Source<volume_limits::VolumeLimits>,
}

/// A sampler, or why it does not run, or no longer.
struct Source<T> {
    sampler: std::result::Result<T, String>,
    /// It has given a reading.
    gave: bool,
}

/// /proc/stat serves two sensors. It is read once for both, as it is the dearest of all to print (a number
/// for each interrupt).
struct Stat {
    stat: ProcFile,
    vmstat: Option<ProcFile>,
    tick_ns: i64,
}

impl Samplers {
    pub fn new(roots: &Roots, scope: Scope) -> Samplers {
        let stat = ProcFile::open(roots.proc.join("stat")).map(|stat| Stat {
            stat,
            vmstat: ProcFile::open(roots.proc.join("vmstat")).ok(),
            tick_ns: crate::host::tick_ns(),
        });
        Samplers {
            stat: why(stat),
            memory: why(ProcFile::open(roots.proc.join("meminfo"))),
            disk: why(disk::Disk::new(roots)),
            pressure: why(pressure::Pressure::new(roots, scope.pid)),
            cgroup: why(cgroup::Cgroup::new(roots, scope.pid)),
            remote: why(remote::Remote::new(roots)),
            log: why(kernel_log::KernelLog::new(roots)),
            volumes: why(volume_limits::VolumeLimits::new(roots)),
        }
    }

    /// From now on reads the groups of `pid`, wherever it is moved; else those of the scope go on.
    pub fn follow(&mut self, roots: &Roots, pid: i32) {
        if let Ok(pressure) = pressure::Pressure::new(roots, Some(pid)) {
            self.pressure.sampler = Ok(pressure);
        }
        if let Ok(cgroup) = cgroup::Cgroup::new(roots, Some(pid)) {
            self.cgroup.sampler = Ok(cgroup);
        }
    }

    /// One reading of each source.
    pub fn sample(&mut self, now_ns: i64, out: &mut impl FnMut(Reading)) {
        run(&mut self.stat, |source| {
            let stat = source.stat.read()?;
            cpu::rows(stat, now_ns, source.tick_ns, |row| out(Reading::Cpu(row)))?;
            let vmstat = source.vmstat.as_mut().map(ProcFile::read).transpose()?;
            out(Reading::Vm(vm::row(stat, vmstat, now_ns)?));
            Ok(())
        });
        run(&mut self.memory, |meminfo| {
            out(Reading::Memory(memory::row(meminfo.read()?, now_ns)?));
            Ok(())
        });
        run(&mut self.disk, |disk| {
            disk.sample(now_ns, |row| out(Reading::Disk(row)))
        });
        run(&mut self.pressure, |pressure| {
            pressure.sample(now_ns, |row| out(Reading::Pressure(row)))
        });
        run(&mut self.cgroup, |cgroup| {
            out(Reading::Cgroup(cgroup.sample(now_ns)?));
            cgroup.new_io_limits(now_ns, |row| out(Reading::IoLimits(row)));
            Ok(())
        });
        run(&mut self.remote, |remote| {
            remote.sample(now_ns, |row| out(Reading::Remote(row)))
        });
        run(&mut self.log, |log| {
            log.sample(now_ns, |row| out(Reading::KernelLog(row)))
        });
        run(&mut self.volumes, |volumes| {
            volumes.sample(now_ns, |row| out(Reading::VolumeLimits(row)))
        });
    }

    /// The sensors of this module with why those that are off are. To be asked again at the end.
    pub fn sensors(&self) -> Vec<Sensor> {
        vec![
            sensor("cpu_samples", &self.stat),
            sensor("vm_samples", &self.stat),
            sensor("memory_samples", &self.memory),
            sensor("disk_samples", &self.disk),
            sensor("pressure_samples", &self.pressure),
            sensor("cgroup_samples", &self.cgroup),
            sensor("remote_samples", &self.remote),
            sensor("kernel_log", &self.log),
            sensor("volume_limits", &self.volumes),
        ]
    }
}

fn why<T>(source: Result<T>) -> Source<T> {
    Source {
        sampler: source.map_err(|error| format!("{error}")),
        gave: false,
    }
}

fn run<T>(source: &mut Source<T>, sample: impl FnOnce(&mut T) -> Result<()>) {
    if let Ok(sampler) = &mut source.sampler {
        match sample(sampler) {
            Ok(()) => source.gave = true,
            Err(error) => source.sampler = Err(format!("{error}")),
        }
    }
}

fn sensor<T>(name: &str, source: &Source<T>) -> Sensor {
    match &source.sampler {
        Ok(_) => Sensor::ran(name),
        // A group that is taken away before its last reading has been read until then.
        Err(why) if source.gave => Sensor {
            why: Some(format!("not to the end: {why}")),
            ..Sensor::ran(name)
        },
        Err(why) => Sensor::missing(name, why.as_str()),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use proptest::prelude::*;

    use crate::proc_file::Text;

    proptest! {
        #[test]
        fn any_bytes(
            bytes in prop_oneof![
                any::<Vec<u8>>(),
                "(cpu[0-9]{0,2}|ctxt|MemFree:|some|total=|rchar:|[0-9]{1,25}|-|\\PC| |\n){0,60}"
                    .prop_map(String::into_bytes),
            ],
        ) {
            let text = Text { path: Path::new("f"), bytes: &bytes };
            let _ = super::cpu::rows(text, 0, 10_000_000, |_| ());
            let _ = super::memory::row(text, 0);
            let _ = super::vm::row(text, Some(text), 0);
            let _ = super::disk::parse(text, 0, |_| ());
            let _ = super::pressure::parse(text, |_, _| ());
            let _ = super::process_io::parse(text, 0, 0);
            let _ = super::remote::parse(text, 0, |_, _| ());
            let _ = super::volume_limits::parse(&bytes, 0, 0);
        }
    }
}
