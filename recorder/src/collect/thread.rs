//! What is known of one thread in scope.

use crate::event::Clock;
use crate::rows::kernel_time::Spent;

/// What is known of a thread while it is in scope.
pub struct Thread {
    pub tgid: u32,
    pub ppid: u32,
    pub comm: [u8; 16],
    pub start: u64,
    /// When it first came into scope: its clock begins again where iowhy worked in it (bpf/aside.h).
    pub first_start: u64,
    /// iowhy works in it.
    pub aside: bool,
    /// The number of its control group; 0: not known.
    pub group: u64,
    /// Its clock when its time was last written.
    pub written: Clock,
    /// Its time in the kernel, as far as rows have it.
    pub kernel: Spent,
    pub exiting: bool,
    /// Readings of all clocks that have begun since it was last met.
    pub unmet: u32,
    /// Its time on a CPU when its clock was last read, and with that all that it did not sleep.
    pub on_cpu: u64,
    pub awake: u64,
    /// When it was last seen to have run.
    pub ran_at: u64,
    /// Of one that waited in a call when it came into scope: how long it has, which its clock has as sleep.
    pub held: Option<u64>,
    /// How many CPUs it may run on, 0 where that is not known, and the first 64 of them as bits.
    pub allowed: (u32, u64),
}

impl Thread {
    pub fn new(clock: &Clock, written: Clock) -> Thread {
        Thread {
            tgid: clock.tgid,
            ppid: clock.ppid,
            comm: clock.comm,
            start: clock.start,
            first_start: clock.start,
            aside: false,
            group: 0,
            written,
            kernel: Spent::default(),
            exiting: false,
            unmet: 1,
            on_cpu: 0,
            awake: 0,
            ran_at: clock.start,
            held: None,
            allowed: (0, 0),
        }
    }

    pub fn begin_again(&mut self, start: u64) {
        self.start = start;
        self.written = Clock {
            start,
            now: start,
            ..Clock::default()
        };
        self.kernel = Spent::default();
    }
}
