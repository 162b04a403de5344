//! One row of whatever was read.

use iowhy_store::{rows, Recording};

/// A row that a sampler or the watcher made.
#[derive(Clone, Debug, PartialEq)]
pub enum Reading {
    Cpu(rows::CpuSamples),
    Memory(rows::MemorySamples),
    Vm(rows::VmSamples),
    Disk(rows::DiskSamples),
    Pressure(rows::PressureSamples),
    Cgroup(rows::CgroupSamples),
    IoLimits(rows::IoLimits),
    Remote(rows::RemoteSamples),
    KernelLog(rows::KernelLog),
    VolumeLimits(rows::VolumeLimits),
    ProcessIo(rows::ProcessIo),
    ThreadTime(rows::ThreadTime),
    Thread(rows::Threads),
    Container(rows::Containers),
}

impl Reading {
    /// Adds it to its table.
    pub fn push(self, recording: &mut Recording) -> iowhy_store::Result<()> {
        match self {
            Reading::Cpu(row) => recording.push(row),
            Reading::Memory(row) => recording.push(row),
            Reading::Vm(row) => recording.push(row),
            Reading::Disk(row) => recording.push(row),
            Reading::Pressure(row) => recording.push(row),
            Reading::Cgroup(row) => recording.push(row),
            Reading::IoLimits(row) => recording.push(row),
            Reading::Remote(row) => recording.push(row),
            Reading::KernelLog(row) => recording.push(row),
            Reading::VolumeLimits(row) => recording.push(row),
            Reading::ProcessIo(row) => recording.push(row),
            Reading::ThreadTime(row) => recording.push(row),
            Reading::Thread(row) => recording.push(row),
            Reading::Container(row) => recording.push(row),
        }
    }
}
