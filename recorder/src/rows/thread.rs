//! Rows of the times of threads.

use iowhy_store::rows;

use super::kernel_time::{Faults, Spent};
use super::own_cost::CallCosts;
use crate::event::{layout, Clock};

/// A thread that only sleeps gets a row this often, not at every sample.
const SLEEPER_EVERY_NS: u64 = 1_000_000_000;

/// Which sums the programs of this kernel keep: the others are unknown, not 0.
#[derive(Clone, Copy, Debug)]
pub struct Kept {
    /// Who waits for whom.
    pub waits: bool,
    /// CPU time that frees memory.
    pub reclaim: bool,
    /// What the programs cost a call.
    pub costs: Option<CallCosts>,
}

/// The row of a thread's time between two readings of its clock; None when there is nothing to write yet.
pub fn time(
    before: &Clock,
    after: &Clock,
    last: bool,
    kernel: &mut Spent,
    faults: &mut Faults,
    kept: Kept,
) -> Option<rows::ThreadTime> {
    let interval = after.now.checked_sub(before.now).filter(|&ns| ns > 0)?;
    let states: Vec<u64> = after
        .states
        .iter()
        .zip(before.states)
        .map(|(a, b)| a.saturating_sub(b))
        .collect();
    let state = |number: u8| states[usize::from(number)];
    let asleep = state(layout::SLEEPING) == interval;
    if asleep && !last && interval < SLEEPER_EVERY_NS {
        return None;
    }
    let cpu = state(layout::ON_CPU_USER) + state(layout::ON_CPU_KERNEL);
    let cost = kept.costs.map(|costs| costs.of_thread(after));
    let in_kernel = kernel.more(after, cpu, cost.unwrap_or_default(), faults);
    let of_waits = |a: u64, b: u64| kept.waits.then_some(a.saturating_sub(b) as i64);
    Some(rows::ThreadTime {
        ts_ns: before.now as i64,
        interval_ns: interval as i64,
        tgid: after.tgid.into(),
        tid: after.tid.into(),
        cpu_user_ns: Some((cpu - in_kernel.ns) as i64),
        cpu_kernel_ns: Some(in_kernel.ns as i64),
        cpu_recorder_ns: cost.map(|_| in_kernel.recorder_ns as i64),
        runnable_ns: Some(state(layout::RUNNABLE) as i64),
        blocked_ns: Some(state(layout::BLOCKED) as i64),
        sleeping_ns: Some(state(layout::SLEEPING) as i64),
        cpu_calls_ns: Some(in_kernel.calls_ns as i64),
        cpu_reclaim_ns: kept
            .reclaim
            .then_some(after.reclaim.saturating_sub(before.reclaim) as i64),
        waits_ns: of_waits(after.waits, before.waits),
        waited_ns: of_waits(after.waited, before.waited),
        waited_runnable_ns: of_waits(after.waited_runnable, before.waited_runnable),
        waited_blocked_ns: of_waits(after.waited_blocked, before.waited_blocked),
    })
}

/// The row of a thread in which iowhy worked until `now` (bpf/aside.h): all of that is the recorder's.
pub fn aside(before: &Clock, now: u64, kept: Kept) -> Option<rows::ThreadTime> {
    let interval = now.checked_sub(before.now).filter(|&ns| ns > 0)? as i64;
    Some(rows::ThreadTime {
        ts_ns: before.now as i64,
        interval_ns: interval,
        tgid: before.tgid.into(),
        tid: before.tid.into(),
        cpu_user_ns: Some(0),
        cpu_kernel_ns: Some(interval),
        cpu_recorder_ns: Some(interval),
        runnable_ns: Some(0),
        blocked_ns: Some(0),
        sleeping_ns: Some(0),
        cpu_calls_ns: Some(0),
        cpu_reclaim_ns: kept.reclaim.then_some(0),
        waits_ns: kept.waits.then_some(0),
        waited_ns: kept.waits.then_some(0),
        waited_runnable_ns: kept.waits.then_some(0),
        waited_blocked_ns: kept.waits.then_some(0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::own_cost::Measured;

    const KEPT: Kept = Kept {
        waits: true,
        reclaim: true,
        costs: None,
    };

    fn row(before: &Clock, after: &Clock, last: bool) -> Option<rows::ThreadTime> {
        time(
            before,
            after,
            last,
            &mut Spent::default(),
            &mut Faults::default(),
            KEPT,
        )
    }

    fn clock(now: u64, states: [u64; 5]) -> Clock {
        Clock {
            start: 100,
            now,
            states,
            tgid: 1,
            tid: 1,
            ..Clock::default()
        }
    }

    #[test]
    fn what_iowhy_does_itself_is_the_recorders() {
        let left = clock(1100, [400, 600, 0, 0, 0]);
        let row = aside(&left, 5100, KEPT).unwrap();
        assert_eq!((row.ts_ns, row.interval_ns), (1100, 4000));
        assert_eq!(
            (row.cpu_kernel_ns, row.cpu_recorder_ns),
            (Some(4000), Some(4000))
        );
        assert_eq!((row.cpu_user_ns, row.sleeping_ns), (Some(0), Some(0)));
        assert!(aside(&left, 1100, KEPT).is_none());
    }

    #[test]
    fn the_states_of_a_row_sum_to_its_interval() {
        let row = row(
            &clock(100, [0; 5]),
            &clock(1100, [400, 300, 200, 70, 30]),
            false,
        )
        .unwrap();
        assert_eq!((row.ts_ns, row.interval_ns), (100, 1000));
        assert_eq!(row.cpu_user_ns, Some(400));
        let sum = row.cpu_user_ns.unwrap()
            + row.cpu_kernel_ns.unwrap()
            + row.runnable_ns.unwrap()
            + row.blocked_ns.unwrap()
            + row.sleeping_ns.unwrap();
        assert_eq!(sum, row.interval_ns);
    }

    #[test]
    fn a_sleeper_gets_a_row_once_a_second_and_at_its_end() {
        let (before, after) = (clock(100, [0; 5]), clock(200, [0, 0, 0, 0, 100]));
        assert!(row(&before, &after, false).is_none());
        assert!(row(&before, &after, true).is_some());
        let later = clock(100 + SLEEPER_EVERY_NS, [0, 0, 0, 0, SLEEPER_EVERY_NS]);
        assert!(row(&before, &later, false).is_some());
        assert!(row(&after, &before, true).is_none());
    }

    #[test]
    fn sums_that_are_not_kept_are_unknown() {
        let none = Kept {
            waits: false,
            reclaim: false,
            costs: None,
        };
        let found = time(
            &clock(100, [0; 5]),
            &clock(200, [100, 0, 0, 0, 0]),
            true,
            &mut Spent::default(),
            &mut Faults::default(),
            none,
        );
        let found = found.unwrap();
        assert_eq!(
            (found.waits_ns, found.cpu_reclaim_ns, found.cpu_recorder_ns),
            (None, None, None)
        );
    }

    #[test]
    fn what_the_recorder_takes_is_kernel_time_of_no_call() {
        // A call costs 500 ns, 300 of them within its length.
        let call = Measured {
            without: 100_000,
            with: 600_000,
            inside: 300_000,
            ..Measured::default()
        };
        let kept = Kept {
            costs: Some(CallCosts::of(&call, &call)),
            ..KEPT
        };
        let (spent, faults) = (&mut Spent::default(), &mut Faults::default());
        let at = |now, states, calls| {
            let mut clock = clock(now, states);
            clock.own.calls = calls;
            clock
        };
        let begin = at(100, [0; 5], 0);
        let first = at(10_100, [6000, 4000, 0, 0, 0], 8);
        let row = time(&begin, &first, false, spent, faults, kept).unwrap();
        // 4,000 ns between the readings of calls, 2,400 of them the recorder's, and 1,600 of it outside.
        assert_eq!(
            (row.cpu_user_ns, row.cpu_kernel_ns),
            (Some(4400), Some(5600))
        );
        assert_eq!(
            (row.cpu_recorder_ns, row.cpu_calls_ns),
            (Some(4000), Some(1600))
        );
        // Never more than the kernel had of the interval: the rest comes later.
        let second = at(11_100, [6500, 4500, 0, 0, 0], 12);
        let row = time(&first, &second, false, spent, faults, kept).unwrap();
        assert_eq!(
            (row.cpu_kernel_ns, row.cpu_recorder_ns),
            (Some(1000), Some(1000))
        );
        let last = at(21_100, [6500, 14_500, 0, 0, 0], 12);
        let row = time(&second, &last, false, spent, faults, kept).unwrap();
        assert_eq!(row.cpu_recorder_ns, Some(1000));
    }
}
