//! Rows of system calls.

use std::borrow::Cow;

use iowhy_store::rows;

use crate::calls;
use crate::event::{layout, Call, Total, TotalKey};

/// As in bpf/totals.h: the kernel's own codes for a call that a signal broke off count, as strace has it.
pub fn is_error(ret: i64) -> bool {
    (-4095..0).contains(&ret)
}

/// Time of the call on a CPU.
pub fn cpu_ns(e: &Call) -> u64 {
    e.dur.saturating_sub(e.runnable + e.blocked + e.sleeping)
}

/// The row of one call; `returned`: it has a result; `ring`: its number.
pub fn row(e: &Call, returned: bool, ring: Option<i64>) -> rows::Syscalls {
    let flag = |bit: u8| e.header.flags & bit != 0;
    rows::Syscalls {
        ts_ns: e.ts as i64,
        dur_ns: e.dur as i64,
        cpu_ns: Some(cpu_ns(e) as i64),
        runnable_ns: Some(e.runnable as i64),
        blocked_ns: Some(e.blocked as i64),
        sleeping_ns: Some(e.sleeping as i64),
        tgid: e.tgid.into(),
        tid: e.header.tid.into(),
        name: calls::name(e.header.nr)
            .map_or_else(|| format!("syscall_{}", e.header.nr).into(), Cow::Borrowed),
        fd: (e.fd >= 0).then_some(e.fd.into()),
        dev: flag(layout::CALL_HAS_FILE).then_some(e.dev.into()),
        ino: flag(layout::CALL_HAS_FILE).then_some(e.ino as i64),
        offset: flag(layout::CALL_HAS_OFFSET).then_some(e.offset as i64),
        bytes: flag(layout::CALL_HAS_BYTES).then_some(e.bytes as i64),
        ring,
        durable: calls::writes(e.header.nr).then_some(flag(layout::CALL_DURABLE)),
        ret: returned.then_some(e.ret),
    }
}

/// The row of a thread's calls of one number in an interval.
pub fn total(key: TotalKey, total: &Total, (start, end): (u64, u64)) -> rows::SyscallTotals {
    rows::SyscallTotals {
        ts_ns: start as i64,
        interval_ns: (end - start) as i64,
        tgid: total.tgid.into(),
        tid: key.tid.into(),
        name: calls::total_name(key.nr),
        calls: total.calls as i64,
        errors: total.errors as i64,
        total_ns: total.total as i64,
        max_ns: Some(total.max as i64),
        cpu_ns: Some(total.cpu as i64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_call_sum_to_its_duration() {
        let e = Call {
            dur: 100,
            runnable: 10,
            blocked: 60,
            sleeping: 5,
            ret: -2,
            fd: -1,
            ..Call::default()
        };
        let row = row(&e, true, None);
        assert_eq!(row.cpu_ns, Some(25));
        assert_eq!((row.fd, row.dev, row.bytes), (None, None, None));
        assert!(is_error(e.ret) && is_error(-512) && !is_error(0) && !is_error(-5000));
    }
}
