//! User stacks: the clock on each CPU that takes those of what runs.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use libbpf_rs::{Link, ProgramMut};

/// Ticks of the clock a second on each CPU: no divisor or multiple of the 100, 250 and 1,000 by which others run.
const TICKS: u64 = 99;

/// Opens the software clock on all CPUs that are there, for a program to run at its ticks. The links end with their drop.
pub(super) fn attach_clock(program: &ProgramMut<'_>) -> io::Result<Vec<Link>> {
    let mut links = Vec::new();
    for cpu in online()? {
        match open_clock(cpu) {
            Ok(clock) => {
                let link = program.attach_perf_event(clock.as_raw_fd());
                links.push(link.map_err(|error| io::Error::other(format!("{error:#}")))?);
                // The link has the descriptor now (libbpf closes it with the link).
                std::mem::forget(clock);
            }
            // It was taken out of use a moment ago.
            Err(error) if error.raw_os_error() == Some(libc::ENODEV) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(links)
}

/// perf_event_open(2) with PERF_TYPE_SOFTWARE and PERF_COUNT_SW_CPU_CLOCK, for all that runs on a CPU.
fn open_clock(cpu: i32) -> io::Result<OwnedFd> {
    /// The first version of the structure (PERF_ATTR_SIZE_VER0) has all that is needed; a size of it that is known
    /// to every kernel, in words of eight bytes.
    const WORDS: usize = 8;
    const SOFTWARE: u64 = 1;
    const BY_FREQUENCY: u64 = 1 << 10;
    const CLOSE_ON_EXEC: libc::c_ulong = 1 << 3;
    let mut attributes = [0_u64; WORDS];
    // type, size; config (0: PERF_COUNT_SW_CPU_CLOCK); sample_freq; sample_type; read_format; flags
    attributes[0] = SOFTWARE | ((WORDS as u64 * 8) << 32);
    attributes[2] = TICKS;
    attributes[5] = BY_FREQUENCY;
    // SAFETY: the attributes say their own size, and the kernel only reads them.
    let fd = unsafe {
        libc::syscall(
            libc::SYS_perf_event_open,
            attributes.as_ptr(),
            -1,
            cpu,
            -1,
            CLOSE_ON_EXEC,
        )
    };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is new and belongs to nobody else.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as i32) })
}

/// `0-3,8` of /sys/devices/system/cpu/online.
fn online() -> io::Result<Vec<i32>> {
    let text = std::fs::read_to_string("/sys/devices/system/cpu/online")?;
    Ok(listed(text.trim()))
}

fn listed(text: &str) -> Vec<i32> {
    let mut cpus = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        if let (Ok(first), Ok(last)) = (first.parse::<i32>(), last.parse()) {
            cpus.extend(first..=last);
        }
    }
    cpus
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpus_are_listed_one_by_one_and_as_ranges() {
        assert_eq!(listed("0"), [0]);
        assert_eq!(listed("0-2,5,8-9"), [0, 1, 2, 5, 8, 9]);
        assert!(listed("").is_empty());
    }
}
