//! FtraceEvent and the messages in it, into events. Numbers of fields are those of protos/perfetto/trace/ftrace.

use std::borrow::Cow;
use std::sync::LazyLock;

use ahash::HashMap;

use super::wire::{fields, Malformed, Value};
use crate::text::word;
use crate::trace::event::{Allocation, Block, BlockKind, CallName, Detail, Page, PageKind, Switch};

const SECTOR_BYTES: i64 = 512;
const PAGE_SHIFT: u32 = 12;

/// Names of events by their fields in FtraceEvent, "4 sched_switch" a line.
static NAMES: LazyLock<HashMap<u32, &'static str>> = LazyLock::new(|| {
    include_str!("event_names.txt")
        .lines()
        .filter_map(|line| line.split_once(' '))
        .filter_map(|(number, name)| Some((number.parse().ok()?, name)))
        .collect()
});

/// Fields 1 and 2 are time and thread, 5 the flags; all others are events.
const NO_EVENTS: [u32; 3] = [1, 2, 5];

/// An FtraceEvent.
pub struct Message<'a> {
    /// The thread that was on the CPU; none when its number is none.
    pub tid: Option<i32>,
    number: u32,
    body: &'a [u8],
}

/// Take an FtraceEvent apart; None: there is no event in it.
pub fn message(event: &[u8]) -> Result<Option<Message<'_>>, Malformed> {
    let mut tid = 0;
    let mut found = None;
    for field in fields(event) {
        match field? {
            (2, value) => tid = value.number(),
            (number, Value::Bytes(body)) if !NO_EVENTS.contains(&number) => {
                found = Some((number, body));
            }
            _ => {}
        }
    }
    Ok(found.map(|(number, body)| Message {
        tid: i32::try_from(tid).ok(),
        number,
        body,
    }))
}

/// The fields of an event's message, by number: numbers and strings, 0 and empty where it has none.
struct Body<'a> {
    numbers: [u64; 12],
    strings: [&'a [u8]; 12],
}

impl<'a> Body<'a> {
    fn new(message: &'a [u8]) -> Result<Self, Malformed> {
        let mut body = Self {
            numbers: [0; 12],
            strings: [&[]; 12],
        };
        for field in fields(message) {
            match field? {
                (number @ 1..=11, Value::Varint(value)) => body.numbers[number as usize] = value,
                (number @ 1..=11, Value::Bytes(value)) => body.strings[number as usize] = value,
                _ => {}
            }
        }
        Ok(body)
    }

    fn int32(&self, field: usize) -> i32 {
        self.numbers[field] as i32
    }

    /// A number that fits 63 bits.
    fn whole(&self, field: usize) -> Option<i64> {
        i64::try_from(self.numbers[field]).ok()
    }

    fn device(&self, field: usize) -> i64 {
        device(self.numbers[field])
    }
}

/// Perfetto has devices as user space has them (makedev(3)); the kernel's number.
fn device(number: u64) -> i64 {
    let major = (number >> 8 & 0xfff) | (number >> 32 & !0xfff);
    let minor = (number & 0xff) | (number >> 12 & 0xffff_ff00);
    ((major as u32 as i64) << 20) | (minor as u32 as i64)
}

/// The letter of a state of a thread that leaves the CPU.
pub fn state(state: i64) -> u8 {
    match state {
        state if state & 2 != 0 => b'D',
        state if state & 1 != 0 => b'S',
        state if state & 0x30 != 0 => b'X',
        state if state & 0xcc != 0 => b'T',
        _ => b'R',
    }
}

/// A thread's name without control characters.
pub fn clean(comm: &[u8]) -> Cow<'_, [u8]> {
    if comm.iter().all(|&byte| byte >= b' ') {
        return Cow::Borrowed(comm);
    }
    Cow::Owned(comm.iter().map(|&byte| byte.max(b' ')).collect())
}

impl<'a> Message<'a> {
    /// The event's name, or its number.
    pub fn name(&self) -> Cow<'static, str> {
        match NAMES.get(&self.number) {
            Some(name) => Cow::Borrowed(name),
            None => Cow::Owned(format!("ftrace_event_{}", self.number)),
        }
    }

    /// What it says, and the thread's name if it has that (else it is empty). None: it is not used here.
    pub fn detail(
        &self,
        scratch: &'a mut Scratch,
    ) -> Result<Option<(Detail<'a>, &'a [u8])>, Malformed> {
        let name: &[u8] = match NAMES.get(&self.number) {
            Some(name) => name.as_bytes(),
            None => return Ok(None),
        };
        let body = Body::new(self.body)?;
        let detail = match name {
            b"sched_switch" => {
                let prev_comm = body.strings[1];
                let switch = Detail::Switch(Switch {
                    prev: body.int32(2),
                    prev_comm,
                    prev_state: state(body.numbers[4] as i64),
                    next: body.int32(6),
                    next_comm: body.strings[5],
                });
                return Ok(Some((switch, prev_comm)));
            }
            b"sched_waking" | b"sched_wakeup" | b"sched_wakeup_new" => Detail::Wake(body.int32(2)),
            b"sched_blocked_reason" => {
                scratch.0 = format!("0x{:x}", body.numbers[2]).into_bytes();
                Detail::BlockedReason {
                    tid: body.int32(1),
                    io: body.numbers[3] == 1,
                    caller: &scratch.0,
                }
            }
            b"sched_process_exit" => Detail::Exit,
            b"sched_process_fork" => Detail::Fork {
                child: body.int32(4),
            },
            b"sys_enter" => self.enter(body.numbers[1] as i64)?,
            b"sys_exit" => Detail::Return {
                call: CallName::Number(body.numbers[1] as i64),
                ret: Some(body.numbers[2] as i64),
            },
            name if name.starts_with(b"block_") => return Ok(requested(name, &body)),
            b"ext4_allocate_blocks" => Detail::Allocation(Allocation {
                dev: Some(body.device(1)),
                ino: body.whole(2),
                logical_block: body.whole(5),
                physical_block: body.whole(3),
                blocks: body.whole(4),
            }),
            b"mm_filemap_add_to_page_cache" => page(PageKind::Add, &body),
            b"mm_filemap_delete_from_page_cache" => page(PageKind::Delete, &body),
            _ => return Ok(None),
        };
        Ok(Some((detail, &[])))
    }

    fn enter(&self, call: i64) -> Result<Detail<'a>, Malformed> {
        let mut given = Vec::new();
        for field in fields(self.body) {
            if let (2, value) = field? {
                value.extend(&mut given)?;
            }
        }
        let mut arguments = [None; 6];
        for (place, value) in arguments.iter_mut().zip(given) {
            *place = Some(value as i64);
        }
        Ok(Detail::Enter {
            call: CallName::Number(call),
            arguments,
        })
    }
}

/// Where the text that an event says in numbers is put.
#[derive(Default)]
pub struct Scratch(Vec<u8>);

/// An event of the block layer, and the thread's name if it has that. None: it is not used here.
fn requested<'a>(name: &[u8], body: &Body<'a>) -> Option<(Detail<'a>, &'a [u8])> {
    Some(match name {
        b"block_rq_issue" | b"block_rq_insert" => sized(name, body, 5, 6),
        b"block_io_start" => sized(name, body, 6, 7),
        b"block_bio_queue" | b"block_getrq" => (block(name, body, 4, None, None), body.strings[5]),
        b"block_rq_complete" => {
            let error = if body.numbers[4] != 0 { 4 } else { 7 };
            (block(name, body, 5, None, Some(error)), b"")
        }
        b"block_rq_requeue" | b"block_bio_complete" => (block(name, body, 5, None, Some(4)), b""),
        _ => return None,
    })
}

/// A request with its length in bytes, and the thread's name.
fn sized<'a>(name: &[u8], body: &Body<'a>, rwbs: usize, comm: usize) -> (Detail<'a>, &'a [u8]) {
    let bytes = body.numbers[4] as i64;
    (
        block(name, body, rwbs, Some(bytes), None),
        body.strings[comm],
    )
}

/// A request or a bio: device, sector and sectors are the first fields of all of them.
fn block<'a>(
    name: &[u8],
    body: &Body<'a>,
    rwbs: usize,
    bytes: Option<i64>,
    error: Option<usize>,
) -> Detail<'a> {
    let rwbs = word(body.strings[rwbs]);
    if rwbs.is_empty() {
        return Detail::Thread;
    }
    let sectors = body.whole(3).unwrap_or(0);
    Detail::Block(Block {
        kind: BlockKind::of(name),
        dev: body.device(1),
        rwbs,
        bytes: bytes.unwrap_or(sectors.saturating_mul(SECTOR_BYTES)),
        sector: body.whole(2),
        error: error.map(|field| i64::from(body.int32(field)).abs()),
    })
}

fn page<'a>(kind: PageKind, body: &Body<'a>) -> Detail<'a> {
    Detail::Page(Page {
        kind,
        dev: body.device(4),
        ino: body.numbers[2] as i64,
        // Its offset in bytes fits 63 bits.
        first: body
            .whole(3)
            .filter(|&index| index < 1 << (63 - PAGE_SHIFT)),
        count: 1,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices() {
        for (major, minor) in [(8, 16), (259, 70_000), (0, 35)] {
            let number = libc::makedev(major, minor);
            assert_eq!(
                device(number),
                i64::from(major) << 20 | i64::from(minor),
                "{major}:{minor}"
            );
        }
    }

    #[test]
    fn names() {
        assert_eq!(NAMES.get(&4), Some(&"sched_switch"));
        assert_eq!(NAMES.get(&330), Some(&"sys_exit"));
    }
}
