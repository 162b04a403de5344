//! An end to the work on names.

use std::os::unix::thread::JoinHandleExt;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// On a busy machine the work gets a part of a CPU, and so many times as long.
pub const TIMES_AS_LONG: u32 = 2;

/// How long names are looked for: a busy machine is no reason for fewer of them, as long as nobody waits for long.
#[derive(Clone, Copy)]
pub struct Bound {
    cpu: Duration,
    wall: Instant,
}

impl Bound {
    /// `most` on a CPU from now on.
    pub fn of(most: Duration) -> Bound {
        Bound {
            cpu: most,
            wall: Instant::now() + TIMES_AS_LONG * most,
        }
    }

    /// For a thread with that clock.
    pub fn is_over(&self, clock: libc::clockid_t) -> bool {
        let mut time = libc::timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        // SAFETY: the structure is ours, and the kernel refuses clocks that there are not (of threads that have ended).
        let known = unsafe { libc::clock_gettime(clock, &mut time) } == 0;
        let used = Duration::new(time.tv_sec as u64, time.tv_nsec as u32);
        Instant::now() >= self.wall || known && used >= self.cpu
    }

    /// For the thread that does the work.
    pub fn is_reached(&self) -> bool {
        self.is_over(libc::CLOCK_THREAD_CPUTIME_ID)
    }
}

/// Its time on a CPU.
pub fn clock_of<T>(thread: &JoinHandle<T>) -> libc::clockid_t {
    let mut clock = libc::CLOCK_MONOTONIC;
    // SAFETY: a thread that was not joined has its handle; where there is no clock, the other one ends the work sooner.
    unsafe { libc::pthread_getcpuclockid(thread.as_pthread_t(), &mut clock) };
    clock
}
