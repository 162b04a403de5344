//! How much of its CPU time a thread spends in the kernel: in system calls, faults and interrupts.
//!
//! The kernel's own accounting (getrusage) looks at each tick at what runs, a few hundred times a second. Of a thread that
//! ran for longer its ticks tell how the time divides. One that was met too rarely has its system calls and the freeing
//! of memory, which are known exactly, and its faults, which are counted; what a fault costs here is learnt from the
//! others. What the recorder's programs take of a call (own_cost.rs) is time in the kernel, too.

use super::own_cost::Cost;
use crate::event::{layout, Clock};

/// From so much time of the kernel's own accounting on it says how a thread divides its time: ten ticks of 4 ms.
const ACCOUNTED_LEAST_NS: u64 = 40_000_000;
/// What a fault costs where nothing has told it yet.
const FAULT_NS: u64 = 500;
/// Bounds of what a fault can cost on average: a page is cleared, or read from compressed memory.
const FAULT_NS_BOUNDS: (u64, u64) = (100, 20_000);
/// Faults from which on their cost is known.
const FAULTS_LEAST: u64 = 10_000;

/// What faults cost on this machine, by the threads that the kernel's own accounting tells enough of.
#[derive(Clone, Copy, Debug, Default)]
pub struct Faults {
    count: u64,
    ns: i64,
}

impl Faults {
    fn cost_ns(self) -> u64 {
        if self.count < FAULTS_LEAST {
            return FAULT_NS;
        }
        let (least, most) = FAULT_NS_BOUNDS;
        (self.ns.max(0) as u64 / self.count).clamp(least, most)
    }
}

/// What the rows of one thread have given so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spent {
    /// Time in the kernel.
    kernel: u64,
    /// Of it, the recorder's, and that in system calls.
    recorder: u64,
    calls: u64,
    /// What it has told of the cost of faults.
    told: Faults,
}

/// Time in the kernel between two readings of a thread's clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InKernel {
    pub ns: u64,
    /// Of it, what the recorder took.
    pub recorder_ns: u64,
    /// In system calls, that of the recorder and what frees memory left out, by the programs' own readings.
    pub calls_ns: u64,
}

impl Spent {
    /// The time in the kernel since the last row, of `cpu` ns on a CPU. `cost` is the recorder's since the thread came into
    /// scope: all of it is spent in the kernel.
    pub fn more(&mut self, clock: &Clock, cpu: u64, cost: Cost, faults: &mut Faults) -> InKernel {
        let all = self.all(clock, cost, faults);
        let ns = all.saturating_sub(self.kernel).min(cpu);
        let recorder_ns = (cost.inside + cost.outside)
            .saturating_sub(self.recorder)
            .min(ns);
        let calls_ns = calls_ns(clock, cost).saturating_sub(self.calls);
        self.kernel += ns;
        self.recorder += recorder_ns;
        self.calls += calls_ns;
        InKernel {
            ns,
            recorder_ns,
            calls_ns,
        }
    }

    /// The time in the kernel since the thread came into scope.
    fn all(&mut self, clock: &Clock, cost: Cost, faults: &mut Faults) -> u64 {
        let state = |number: u8| clock.states[usize::from(number)];
        let cpu = state(layout::ON_CPU_USER) + state(layout::ON_CPU_KERNEL);
        let known = calls_ns(clock, cost) + clock.reclaim + cost.inside + cost.outside;
        let ticks = clock.ticks_user + clock.ticks_kernel;
        // One that runs at other times than ticks come is not told by them.
        if ticks < ACCOUNTED_LEAST_NS || ticks < cpu / 2 {
            return known + clock.faults * faults.cost_ns();
        }
        let all = (u128::from(cpu) * u128::from(clock.ticks_kernel) / u128::from(ticks)) as u64;
        faults.count += clock.faults - self.told.count;
        faults.ns += all as i64 - known as i64 - self.told.ns;
        self.told = Faults {
            count: clock.faults,
            ns: all as i64 - known as i64,
        };
        all
    }
}

/// CPU time in system calls, without that which frees memory and that of the recorder.
fn calls_ns(clock: &Clock, cost: Cost) -> u64 {
    clock.states[usize::from(layout::ON_CPU_KERNEL)]
        .saturating_sub(clock.reclaim_in_calls)
        .saturating_sub(cost.inside)
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;
    const NONE: Cost = Cost {
        inside: 0,
        outside: 0,
    };

    /// On a CPU outside and in system calls; the kernel's ticks in user and kernel mode; faults.
    fn clock(
        (user, calls): (u64, u64),
        (ticks_user, ticks_kernel): (u64, u64),
        faults: u64,
    ) -> Clock {
        Clock {
            states: [user, calls, 0, 0, 0],
            ticks_user,
            ticks_kernel,
            faults,
            ..Clock::default()
        }
    }

    #[test]
    fn ticks_divide_the_time_of_a_thread_that_faults() {
        let (mut spent, mut faults) = (Spent::default(), Faults::default());
        let first = clock((S - 50, 50), (S / 10, S * 9 / 10), 1_000_000);
        assert_eq!(spent.more(&first, S, NONE, &mut faults).ns, S * 9 / 10);
        // What one row gave too much the next gives less, and no row gives less than nothing.
        let later = clock((2 * S - 50, 50), (S * 3 / 2, S / 2), 1_000_000);
        assert_eq!(spent.more(&later, S, NONE, &mut faults).ns, 0);
        let last = clock((3 * S - 50, 50), (S * 3 / 2, S * 3 / 2), 1_000_000);
        assert_eq!(
            spent.more(&last, S, NONE, &mut faults).ns,
            S * 3 / 2 - S * 9 / 10
        );
    }

    #[test]
    fn a_thread_that_ticks_hardly_met_has_its_calls_reclaim_and_faults() {
        let mut faults = Faults::default();
        let mut short = clock((10_000_000, 2_000_000), (0, 4_000_000), 1_000);
        (short.reclaim, short.reclaim_in_calls) = (90_000, 60_000);
        let known = 2_000_000 - 60_000 + 90_000;
        let cpu = 12_000_000;
        let found = Spent::default().more(&short, cpu, NONE, &mut faults).ns;
        assert_eq!(found, known + 1_000 * FAULT_NS);
        // Another thread has shown what a fault costs here: (900 ms - 0) of a million faults.
        Spent::default().more(
            &clock((S, 0), (S / 10, S * 9 / 10), 1_000_000),
            S,
            NONE,
            &mut faults,
        );
        let found = Spent::default().more(&short, cpu, NONE, &mut faults).ns;
        assert_eq!(found, known + 1_000 * 900);
        // Never more than all of its time.
        short.faults = 1_000_000;
        assert_eq!(
            Spent::default().more(&short, cpu, NONE, &mut faults).ns,
            cpu
        );
    }

    #[test]
    fn ticks_that_come_at_other_times_do_not_count() {
        let clock = clock((9 * S, S), (0, S), 0);
        let found = Spent::default()
            .more(&clock, 10 * S, NONE, &mut Faults::default())
            .ns;
        assert_eq!(found, S);
    }

    #[test]
    fn a_thread_tells_the_cost_of_its_faults_once() {
        let (mut spent, mut faults) = (Spent::default(), Faults::default());
        for seconds in 1..5 {
            let all = seconds * S;
            spent.more(
                &clock((all, 0), (0, all), seconds * 100_000),
                S,
                NONE,
                &mut faults,
            );
            assert_eq!((faults.count, faults.ns), (seconds * 100_000, all as i64));
        }
        assert_eq!(faults.cost_ns(), 10_000);
    }

    #[test]
    fn the_recorder_is_no_cost_of_faults_and_never_more_than_the_kernel_had() {
        let (mut spent, mut faults) = (Spent::default(), Faults::default());
        let cost = Cost {
            inside: S / 10,
            outside: S * 2 / 5,
        };
        let busy = clock((S / 2, S / 2), (S / 5, S * 4 / 5), 100_000);
        let found = spent.more(&busy, S, cost, &mut faults);
        assert_eq!((found.ns, found.recorder_ns), (S * 4 / 5, S / 2));
        // Of 800 ms in the kernel 400 were calls and 500 the recorder: nothing is left for faults.
        assert_eq!(faults.ns, -(S as i64) / 10);
        let idle = spent.more(
            &busy,
            S,
            Cost {
                inside: S / 10,
                outside: 9 * S,
            },
            &mut faults,
        );
        assert_eq!(idle, InKernel::default());
    }
}
