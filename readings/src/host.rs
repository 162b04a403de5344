//! The machine and its clocks, for the manifest.

use std::sync::OnceLock;

use iowhy_store::manifest::{Clock, Host};
use nix::time::{clock_gettime, ClockId};

use crate::proc_file::{number, ProcFile};
use crate::Roots;

/// What the machine is called, if this process is called otherwise (in a pod).
pub const NAME: &str = "IOWHY_HOST";

/// The machine that is recorded; what cannot be read is None.
pub fn host(roots: &Roots) -> Host {
    let uname = nix::sys::utsname::uname().ok();
    let text = |word: &std::ffi::OsStr| crate::names::escaped(word.as_encoded_bytes());
    let given = std::env::var_os(NAME).filter(|name| !name.is_empty());
    let memory = ProcFile::open(roots.proc.join("meminfo"))
        .and_then(|mut file| crate::sampler::memory::row(file.read()?, 0));
    let online = std::fs::read_to_string(roots.sys.join("devices/system/cpu/online"));
    Host {
        name: given
            .as_deref()
            .or(uname.as_ref().map(|u| u.nodename()))
            .map(text),
        kernel: uname.as_ref().map(|u| text(u.release())),
        machine: uname.as_ref().map(|u| text(u.machine())),
        cpus: online.ok().and_then(|list| count(list.trim())),
        memory_bytes: memory.ok().and_then(|row| row.total_bytes),
        page_bytes: Some(page_bytes()),
        os: std::fs::read_to_string("/etc/os-release")
            .ok()
            .and_then(|text| pretty_name(&text)),
    }
}

/// Size of a page of memory.
pub fn page_bytes() -> i64 {
    // SAFETY: no memory is passed.
    unsafe { libc::sysconf(libc::_SC_PAGESIZE) }
}

/// Length of a tick of /proc's times (1/USER_HZ).
pub fn tick_ns() -> i64 {
    // SAFETY: no memory is passed.
    1_000_000_000 / unsafe { libc::sysconf(libc::_SC_CLK_TCK) }.max(1)
}

/// CLOCK_MONOTONIC of the machine, the clock of every table: that of the programs in the kernel, also where this process
/// is in a time namespace.
pub fn now_ns() -> i64 {
    static OFFSET_NS: OnceLock<i64> = OnceLock::new();
    let offset_ns = OFFSET_NS.get_or_init(|| {
        let offsets = std::fs::read_to_string("/proc/self/timens_offsets");
        offsets.map_or(0, |text| monotonic_offset_ns(&text).unwrap_or(0))
    });
    read(ClockId::CLOCK_MONOTONIC) - offset_ns
}

/// How far the clock in which /proc says when a process started (CLOCK_BOOTTIME, in a time namespace that one's) is ahead
/// of [`now_ns`]: the time that the machine was suspended, and what the namespace adds to it.
pub fn suspended_ns() -> i64 {
    let now_ns = now_ns();
    read(ClockId::CLOCK_BOOTTIME) - now_ns
}

/// One instant on both clocks: the wall clock is read between two readings of the other.
pub fn clock() -> Clock {
    let before = now_ns();
    let wall = read(ClockId::CLOCK_REALTIME);
    let after = now_ns();
    Clock {
        monotonic_ns: Some(before + (after - before) / 2),
        wall_ns: Some(wall),
    }
}

fn read(clock: ClockId) -> i64 {
    // These clocks exist on every kernel that runs us, so this does not fail.
    clock_gettime(clock).map_or(0, |t| t.tv_sec() * 1_000_000_000 + t.tv_nsec())
}

/// What a time namespace adds to CLOCK_MONOTONIC (time_namespaces(7)): seconds and nanoseconds in /proc/PID/timens_offsets.
fn monotonic_offset_ns(offsets: &str) -> Option<i64> {
    let mut words = offsets
        .lines()
        .find_map(|line| line.strip_prefix("monotonic"))?
        .split_whitespace()
        .map(str::parse::<i64>);
    let (seconds, nanoseconds) = (words.next()?.ok()?, words.next()?.ok()?);
    seconds.checked_mul(1_000_000_000)?.checked_add(nanoseconds)
}

/// CPUs of a list like "0-3,8".
fn count(list: &str) -> Option<i64> {
    let mut sum = 0;
    for range in list.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last) = (number(first.as_bytes())?, number(last.as_bytes())?);
        sum += last
            .checked_sub(first)
            .filter(|n| (0..1 << 20).contains(n))?
            + 1;
    }
    Some(sum)
}

fn pretty_name(os_release: &str) -> Option<String> {
    let line = os_release
        .lines()
        .find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(line.trim_matches('"').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_cpus() {
        assert_eq!(count("0-3,8"), Some(5));
        assert_eq!(count("0"), Some(1));
        for bad in ["", "3-0", "a", "0-99999999999999999999"] {
            assert_eq!(count(bad), None, "{bad}");
        }
    }

    #[test]
    fn offsets_of_a_time_namespace() {
        let of = monotonic_offset_ns;
        let text = "monotonic      -86400         7\nboottime        172800         0\n";
        assert_eq!(of(text), Some(-86_399_999_999_993));
        for bad in [
            "",
            "boottime 1 2\n",
            "monotonic\n",
            "monotonic 9223372036854775807 0\n",
        ] {
            assert_eq!(of(bad), None, "{bad}");
        }
    }

    #[test]
    fn this_machine() {
        let host = host(&Roots::default());
        assert!(host.cpus > Some(0) && host.memory_bytes > Some(1 << 20) && host.kernel.is_some());
        let clock = clock();
        assert!(clock.monotonic_ns.unwrap() <= now_ns());
        assert!(clock.wall_ns.unwrap() > 1_600_000_000_000_000_000);
        assert_eq!(
            pretty_name("A=1\nPRETTY_NAME=\"X 1\"\n").as_deref(),
            Some("X 1")
        );
    }
}
