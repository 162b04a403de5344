//! What the recorder itself costs.

use nix::sys::resource::{getrusage, UsageWho};
use nix::sys::time::TimeVal;

/// CPU time of all threads of this process.
pub fn cpu_ns() -> Option<i64> {
    let usage = getrusage(UsageWho::RUSAGE_SELF).ok()?;
    let ns = |t: TimeVal| t.tv_sec() * 1_000_000_000 + t.tv_usec() * 1000;
    Some(ns(usage.user_time()) + ns(usage.system_time()))
}

/// The most memory that this process has held (proc(5), VmHWM). getrusage's figure is no use: over an exec
/// it keeps that of the process that started this one.
pub fn memory_peak_bytes() -> Option<i64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"))?;
    let kibibytes: i64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}
