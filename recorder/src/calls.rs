//! The system calls of this machine by number, and the table that the programs read from their constants.

use std::sync::OnceLock;

use iowhy_store::Name;
use iowhy_tables::calls::{self, Call, Effect, Kind, OffsetIn, Record};

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

/// The calls of this machine of which something is known, by number.
pub fn known() -> impl Iterator<Item = (usize, &'static Call)> {
    (0..MOST).filter_map(|number| {
        let call = calls::by_name(name(number as u16)?.as_bytes())?;
        Some((number, call))
    })
}

/// Those that get a row of their own.
pub fn recorded() -> impl Iterator<Item = (usize, &'static Call, Record)> {
    known().filter_map(|(number, call)| Some((number, call, call.record?)))
}

/// Bits that say where the programs find the length and the offset, and what is slept for (bpf/state.h, enum call_how).
pub fn how(call: &Call) -> u8 {
    let offset = match call.offset_in {
        OffsetIn::Argument => 0,
        OffsetIn::Position => layout::HOW_FILE_POSITION,
        OffsetIn::Pointer => layout::HOW_OFFSET_POINTER,
    };
    let vector = if call.vector { layout::HOW_IOVEC } else { 0 };
    let names = if is_of_names(call) {
        layout::HOW_OF_NAMES
    } else {
        0
    };
    let closes = if call.closes { layout::HOW_CLOSES } else { 0 };
    let usual = if is_usual(call) { layout::HOW_USUAL } else { 0 };
    let served = if call.served { layout::HOW_SERVED } else { 0 };
    offset | vector | names | closes | usual | served
}

/// Whether it has the arguments that `begin_usual` takes for given (bpf/syscall.h).
fn is_usual(call: &Call) -> bool {
    let place = match call.offset_in {
        OffsetIn::Argument => call.offset == Some(3),
        OffsetIn::Position => call.offset.is_none(),
        OffsetIn::Pointer => false,
    };
    let written = match call.record {
        Some(Record::Read) => call.written.is_none(),
        Some(Record::Write) => call.written == Some(0),
        _ => false,
    };
    place
        && written
        && (call.fd, call.bytes, call.flags) == (Some(0), Some(2), None)
        && !call.vector
}

/// Whether it asks for or changes names and inodes alone. To open one may be to wait for who opens its other end, and to close
/// it, for what a peer has not taken yet.
fn is_of_names(call: &Call) -> bool {
    match call.kind {
        Some(Kind::Lookup) => call.record != Some(Record::Open),
        Some(Kind::Change) => call.effect != Some(Effect::Close),
        _ => false,
    }
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

/// Whether the call writes to a file, or copies to one.
pub fn writes(number: u16) -> bool {
    static WRITES: OnceLock<[bool; MOST]> = OnceLock::new();
    let writes = WRITES.get_or_init(|| {
        let mut writes = [false; MOST];
        for (number, call, _) in recorded() {
            writes[number] = call.written.is_some();
        }
        writes
    });
    writes.get(usize::from(number)).copied().unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usual_calls_are_those_of_a_buffer_at_an_offset_or_the_position() {
        let mut usual: Vec<_> = recorded()
            .filter(|(_, call, _)| is_usual(call))
            .map(|(_, call, _)| call.name)
            .collect();
        usual.sort_unstable();
        assert_eq!(usual, ["pread64", "pwrite64", "read", "write"]);
    }

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
    fn sleep_in_calls_on_names_is_for_what_answers_them() {
        let of_names =
            |name: &str| how(calls::by_name(name.as_bytes()).unwrap()) & layout::HOW_OF_NAMES != 0;
        for name in [
            "newfstatat",
            "statx",
            "readlink",
            "execve",
            "unlinkat",
            "rename",
            "ftruncate",
        ] {
            assert!(of_names(name), "{name}");
        }
        let closes =
            |name: &str| how(calls::by_name(name.as_bytes()).unwrap()) & layout::HOW_CLOSES != 0;
        assert!(closes("close") && closes("exit_group") && closes("dup2") && !closes("dup"));
        let served =
            |name: &str| how(calls::by_name(name.as_bytes()).unwrap()) & layout::HOW_SERVED != 0;
        assert!(served("flock") && served("fcntl") && served("ioctl") && !served("futex"));
        for name in [
            "openat", "creat", "close", "read", "fsync", "futex", "ppoll", "clone",
        ] {
            assert!(!of_names(name), "{name}");
        }
        let known: Vec<&str> = known().map(|(_, call)| call.name).collect();
        assert!(known.contains(&"statx") && !recorded().any(|(_, call, _)| call.name == "statx"));
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
