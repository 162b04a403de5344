//! Rows of the times of threads.

use iowhy_store::rows;

use crate::event::{layout, Clock};

/// A thread that only sleeps gets a row this often, not at every sample.
const SLEEPER_EVERY_NS: u64 = 1_000_000_000;

/// The row of a thread's time between two readings of its clock; None when there is nothing to write yet.
pub fn time(before: &Clock, after: &Clock, last: bool) -> Option<rows::ThreadTime> {
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
    Some(rows::ThreadTime {
        ts_ns: before.now as i64,
        interval_ns: interval as i64,
        tgid: after.tgid.into(),
        tid: after.tid.into(),
        cpu_user_ns: Some(state(layout::ON_CPU_USER) as i64),
        cpu_kernel_ns: Some(state(layout::ON_CPU_KERNEL) as i64),
        runnable_ns: Some(state(layout::RUNNABLE) as i64),
        blocked_ns: Some(state(layout::BLOCKED) as i64),
        sleeping_ns: Some(state(layout::SLEEPING) as i64),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn the_states_of_a_row_sum_to_its_interval() {
        let row = time(
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
        assert!(time(&before, &after, false).is_none());
        assert!(time(&before, &after, true).is_some());
        let later = clock(100 + SLEEPER_EVERY_NS, [0, 0, 0, 0, SLEEPER_EVERY_NS]);
        assert!(time(&before, &later, false).is_some());
        assert!(time(&after, &before, true).is_none());
    }
}
