//! The system calls of this machine by number, and the table that the programs read from their constants.

use std::sync::OnceLock;

use iowhy_store::Name;
use iowhy_tables::calls::{self, Call, OffsetIn, Record};

use crate::event::layout;

/// Most numbers that the programs' table holds (bpf/state.h, CALLS).
pub const MOST: usize = 512;

/// The name of a call of this machine, without `sys_`.
pub fn name(number: u16) -> Option<&'static str> {
    static NAMES: OnceLock<&[&str]> = OnceLock::new();
    let names = NAMES.get_or_init(|| calls::numbers(std::env::consts::ARCH).unwrap_or_default());
    names
        .get(usize::from(number))
        .copied()
        .filter(|name| !name.is_empty())
}

/// What a call is named in the totals: numbers without a name, and those of 32-bit programs, whose table is
/// another, stand for themselves.
pub fn total_name(number: u32) -> Name {
    if number & layout::CALL_COMPAT != 0 {
        return format!("syscall32_{}", number & !layout::CALL_COMPAT).into();
    }
    if number & layout::CALL_X32 != 0 {
        return format!("syscallx32_{}", number & !layout::CALL_X32).into();
    }
    match u16::try_from(number).ok().and_then(name) {
        Some(name) => Name::Borrowed(name),
        None => format!("syscall_{number}").into(),
    }
}

/// The calls of this machine that get a row of their own, by number.
pub fn recorded() -> impl Iterator<Item = (usize, &'static Call, Record)> {
    (0..MOST).filter_map(|number| {
        let call = calls::by_name(name(number as u16)?.as_bytes())?;
        Some((number, call, call.record?))
    })
}

/// Bits that say where the programs find the length and the offset (bpf/state.h, enum call_how).
pub fn how(call: &Call) -> u8 {
    let offset = match call.offset_in {
        OffsetIn::Argument => 0,
        OffsetIn::Position => layout::HOW_FILE_POSITION,
        OffsetIn::Pointer => layout::HOW_OFFSET_POINTER,
    };
    offset | if call.vector { layout::HOW_IOVEC } else { 0 }
}

/// Whether the call's result is a number of bytes read or written.
pub fn moves_bytes(number: u16) -> bool {
    static MOVES: OnceLock<[bool; MOST]> = OnceLock::new();
    let moves = MOVES.get_or_init(|| {
        let mut moves = [false; MOST];
        for (number, _, record) in recorded() {
            moves[number] = matches!(record, Record::Read | Record::Write);
        }
        moves
    });
    moves.get(usize::from(number)).copied().unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_libc() {
        for (number, expected) in [
            (libc::SYS_read, "read"),
            (libc::SYS_pwritev2, "pwritev2"),
            (libc::SYS_io_uring_enter, "io_uring_enter"),
            (libc::SYS_fsync, "fsync"),
            (libc::SYS_getdents64, "getdents64"),
            (libc::SYS_futex_waitv, "futex_waitv"),
        ] {
            assert_eq!(name(number as u16), Some(expected));
        }
        assert_eq!(name(0xffff), None);
        assert_eq!(total_name(libc::SYS_read as u32), "read");
        assert_eq!(total_name(500), "syscall_500");
        assert_eq!(total_name(3 | layout::CALL_COMPAT), "syscall32_3");
        assert_eq!(total_name(layout::CALL_X32), "syscallx32_0");
    }

    #[test]
    fn every_recorded_call_of_the_table_has_a_number_here() {
        let here: Vec<&str> = recorded().map(|(_, call, _)| call.name).collect();
        #[cfg(target_arch = "x86_64")]
        for call in calls::CALLS
            .iter()
            .filter(|c| c.record.is_some() && c.same_as.is_none())
        {
            assert!(here.contains(&call.name), "{}", call.name);
        }
        assert!(here.contains(&"fdatasync") && !here.contains(&"getpid"));
        assert!(moves_bytes(libc::SYS_pwrite64 as u16) && !moves_bytes(libc::SYS_fsync as u16));
    }
}
