//! What an event's print format says (/sys/kernel/tracing/events/*/*/format), into the event.

use super::event::{
    Allocation, Arguments, Block, BlockKind, CallName, Detail, Journal, Page, PageKind, Switch,
    Throttle, Writeback,
};
use super::line::{Line, Mark};
use crate::text::{
    after, contains, digits, field, hexadecimal, last_word, number, signed, thread, word,
};

const PAGE_BYTES: i64 = 4096;
const SECTOR_BYTES: i64 = 512;

/// What the event of a line says; None: it is one that is not used here.
pub fn detail<'a>(line: &Line<'a>) -> Option<Detail<'a>> {
    let text = line.text;
    if let Some(call) = line.name.strip_prefix(b"sys_") {
        match line.mark {
            Mark::Enter => return Some(enter(CallName::Name(call), text)),
            Mark::Exit => return Some(returned(CallName::Name(call), text)),
            Mark::Plain => {}
        }
        if let Some(call) = call.strip_prefix(b"enter_") {
            return Some(enter(CallName::Name(call), text));
        }
        if let Some(call) = call.strip_prefix(b"exit_") {
            return Some(returned(CallName::Name(call), text));
        }
    }
    let known = match line.name {
        b"sched_switch" => switch(text).map(Detail::Switch),
        b"sched_waking" | b"sched_wakeup" | b"sched_wakeup_new" => woken(text).map(Detail::Wake),
        b"sched_blocked_reason" => blocked_reason(text),
        b"sched_process_fork" => after(text, b"child_pid=")
            .and_then(thread)
            .map(|child| Detail::Fork { child }),
        b"sched_process_exit" => Some(Detail::Exit),
        b"sched_stat_iowait" | b"task_newtask" => None,
        b"sys_enter" => call_number(text).map(|call| enter(call, text)),
        b"sys_exit" => call_number(text).map(|call| returned(call, text)),
        b"block_bio_queue"
        | b"block_io_start"
        | b"block_getrq"
        | b"block_rq_insert"
        | b"block_rq_issue"
        | b"block_rq_requeue"
        | b"block_rq_complete"
        | b"block_bio_complete" => block(BlockKind::of(line.name), text).map(Detail::Block),
        b"mm_filemap_get_pages" => page(PageKind::Lookup, text),
        b"mm_filemap_add_to_page_cache" => page(PageKind::Add, text),
        b"mm_filemap_delete_from_page_cache" => page(PageKind::Delete, text),
        b"writeback_dirty_folio" | b"writeback_dirty_page" => page(PageKind::Dirty, text),
        b"writeback_single_inode_start"
        | b"writeback_single_inode"
        | b"writeback_start"
        | b"writeback_exec" => Some(writeback(line.name, text)),
        b"balance_dirty_pages" => Some(Detail::Throttle(Throttle {
            pause_ms: field(text, b"pause"),
            dirty_pages: field(text, b"dirty"),
            limit_pages: field(text, b"limit"),
        })),
        b"jbd2_start_commit" | b"jbd2_commit_locking" | b"jbd2_end_commit" | b"jbd2_run_stats" => {
            Some(journal(line.name, text))
        }
        b"ext4_allocate_blocks" => Some(allocation(text)),
        _ => return None,
    };
    // One that is not understood still shows that its thread is there.
    Some(known.unwrap_or(Detail::Thread))
}

/// "prev_comm=a prev_pid=1 prev_prio=120 prev_state=D ==> next_comm=b next_pid=2 …", or trace-cmd's own
/// "a:1 [120] D ==> b:2 [120]".
pub fn switch(text: &[u8]) -> Option<Switch<'_>> {
    let arrow = memchr::memmem::find(text, b" ==> ")?;
    let (left, right) = (&text[..arrow], &text[arrow + 5..]);
    if let Some(rest) = left.strip_prefix(b"prev_comm=") {
        let end = memchr::memmem::rfind(rest, b" prev_pid=")?;
        let next = right.strip_prefix(b"next_comm=")?;
        let next_end = memchr::memmem::rfind(next, b" next_pid=")?;
        return Some(Switch {
            prev: thread(&rest[end + 10..])?,
            prev_comm: &rest[..end],
            prev_state: *after(&rest[end..], b"prev_state=")?.first()?,
            next: thread(&next[next_end + 10..])?,
            next_comm: &next[..next_end],
        });
    }
    let (before, state) = last_word(left);
    let (before, prio) = last_word(before);
    let before = before.trim_ascii_end();
    let colon = memchr::memrchr(b':', before)?;
    let (next, _) = last_word(right);
    let next = next.trim_ascii_end();
    let next_colon = memchr::memrchr(b':', next)?;
    prio.starts_with(b"[").then_some(())?;
    Some(Switch {
        prev: thread(&before[colon + 1..])?,
        prev_comm: &before[..colon],
        prev_state: *state.first()?,
        next: thread(&next[next_colon + 1..])?,
        next_comm: &next[..next_colon],
    })
}

/// "comm=a pid=1 …", or trace-cmd's "a:1 [120] …".
pub fn woken(text: &[u8]) -> Option<i32> {
    match after(text, b" pid=") {
        Some(rest) => thread(rest),
        None => {
            let end = memchr::memmem::find(text, b" [")?;
            thread(&text[memchr::memrchr(b':', &text[..end])? + 1..])
        }
    }
}

fn blocked_reason(text: &[u8]) -> Option<Detail<'_>> {
    Some(Detail::BlockedReason {
        tid: after(text, b"pid=").and_then(thread)?,
        io: contains(text, b"iowait=1") || contains(text, b"io_wait=1"),
        caller: after(text, b"caller=").map_or(&b""[..], word),
    })
}

/// "NR 17 …"
fn call_number(text: &[u8]) -> Option<CallName<'static>> {
    after(text, b"NR ").and_then(signed).map(CallName::Number)
}

fn enter<'a>(call: CallName<'a>, text: &[u8]) -> Detail<'a> {
    let arguments = match call {
        CallName::Number(_) => listed(text),
        CallName::Name(_) => named(text),
    };
    Detail::Enter { call, arguments }
}

/// "NR 17 = 4096", "0x1000", or a number somewhere.
fn returned<'a>(call: CallName<'a>, text: &[u8]) -> Detail<'a> {
    let ret = match (call, after(text, b"0x")) {
        (CallName::Number(_), _) => after(text, b"= ").and_then(signed),
        (_, Some(digits)) => hexadecimal(digits).map(|(number, _)| number),
        (_, None) => text.iter().position(u8::is_ascii_digit).and_then(|at| {
            let minus = at > 0 && text[at - 1] == b'-';
            signed(&text[at - usize::from(minus)..])
        }),
    };
    Detail::Return { call, ret }
}

/// Arguments of raw_syscalls:sys_enter: "NR 17 (3, 7f00, 1000, 0, 0, 0)", hexadecimal.
pub fn listed(text: &[u8]) -> Arguments {
    let mut found = [None; 6];
    let Some(open) = memchr::memchr(b'(', text) else {
        return found;
    };
    let mut rest = &text[open + 1..];
    for place in &mut found {
        let Some((number, after)) = hexadecimal(rest) else {
            break;
        };
        *place = Some(number);
        let Some(next) = after.strip_prefix(b", ") else {
            break;
        };
        rest = next;
    }
    found
}

/// Arguments of syscalls:sys_enter_NAME: "fd: 0x3, buf: 0x7f00, count: 0x10"; ftrace leaves 0x away.
pub fn named(text: &[u8]) -> Arguments {
    let mut found = [None; 6];
    let mut rest = text;
    for place in &mut found {
        while place.is_none() {
            let Some(value) = after(rest, b": ") else {
                return found;
            };
            rest = value;
            if let Some((number, after)) = hexadecimal(value.strip_prefix(b"0x").unwrap_or(value)) {
                *place = Some(number);
                rest = after;
            }
        }
    }
    found
}

/// "8,0 WS 4096 () 2048 + 8 be,0,4 [name or error]": bytes, command and priority may be missing.
pub fn block(kind: BlockKind, text: &[u8]) -> Option<Block<'_>> {
    let (major, rest) = number(text)?;
    let (minor, rest) = number(rest.strip_prefix(b",")?)?;
    let rest = rest.strip_prefix(b" ")?;
    let rwbs = word(rest);
    let mut rest = rest[rwbs.len()..].strip_prefix(b" ")?;
    if rwbs.is_empty() {
        return None;
    }
    let mut bytes = None;
    let (first, after) = digits(rest);
    if !first.is_empty() && !after.starts_with(b" + ") {
        bytes = number(rest).map(|(bytes, _)| bytes);
        rest = after.strip_prefix(b" ")?;
    }
    if rest.starts_with(b"(") {
        rest = rest[memchr::memchr(b')', rest)? + 1..].strip_prefix(b" ")?;
    }
    let (sector, rest) = digits(rest);
    if sector.is_empty() {
        return None;
    }
    let (sectors, rest) = number(rest.strip_prefix(b" + ")?)?;
    let open = memchr::memchr(b'[', rest)?;
    let close = memchr::memrchr(b']', rest)?;
    Some(Block {
        kind,
        dev: major << 20 | minor,
        rwbs,
        bytes: bytes.unwrap_or(sectors.saturating_mul(SECTOR_BYTES)),
        // The sector of a flush is 2^64 - 1, which does not fit: none.
        sector: number(sector).map(|(sector, _)| sector),
        error: signed(rest.get(open + 1..close)?).map(i64::abs),
    })
}

/// "bdi 8:0" or "dev 8,0" or "dev=8:0", at the beginning.
fn device(text: &[u8]) -> Option<(i64, &[u8])> {
    let rest = text
        .strip_prefix(b"dev")
        .or_else(|| text.strip_prefix(b"bdi"))?;
    let (major, rest) = number(
        rest.strip_prefix(b" ")
            .or_else(|| rest.strip_prefix(b"="))?,
    )?;
    let (minor, rest) = number(
        rest.strip_prefix(b":")
            .or_else(|| rest.strip_prefix(b","))?,
    )?;
    Some((major << 20 | minor, rest))
}

/// "dev 8:0 ino 1a page=… ofs=4096 order=2", "dev 8:0 ino 1a ofs=0-8191", "bdi 8:0: ino=26 index=0".
fn page(kind: PageKind, text: &[u8]) -> Option<Detail<'_>> {
    let (dev, rest) = device(text)?;
    let rest = rest.strip_prefix(b":").unwrap_or(rest);
    let rest = rest.strip_prefix(b" ino").and_then(|rest| rest.get(1..))?;
    // The inode is hexadecimal, but for the events of writeback.
    let ino = if text.starts_with(b"bdi") {
        signed(rest)
    } else {
        hexadecimal(rest).map(|(ino, _)| ino)
    };
    let offsets = after(text, b" ofs=");
    let first = offsets
        .and_then(signed)
        .map(|bytes| bytes.div_euclid(PAGE_BYTES));
    let count = if kind == PageKind::Lookup {
        let text = offsets?;
        let end = signed(text.get(memchr::memchr(b'-', text)? + 1..)?)?;
        end.saturating_add(1) / PAGE_BYTES - first?
    } else {
        let order = after(text, b" order=").and_then(signed).unwrap_or(0);
        1 << order.clamp(0, 30)
    };
    (count >= 0).then_some(Detail::Page(Page {
        kind,
        dev,
        ino: ino?,
        first,
        count,
    }))
}

/// The device of an event of a filesystem; perf may print the bare number.
fn device_of(text: &[u8]) -> Option<i64> {
    device(text)
        .map(|(dev, _)| dev)
        .or_else(|| field(text, b"dev"))
}

fn writeback<'a>(name: &'a [u8], text: &'a [u8]) -> Detail<'a> {
    Detail::Writeback(Writeback {
        name,
        dev: device_of(text),
        ino: field(text, b"ino"),
        reason: after(text, b"reason=").map_or(&b""[..], word),
        wrote_pages: field(text, b"wrote"),
        age_s: field(text, b"age"),
    })
}

fn journal<'a>(name: &'a [u8], text: &[u8]) -> Detail<'a> {
    Detail::Journal(Journal {
        name,
        dev: device_of(text),
        transaction: field(text, b"transaction").or_else(|| field(text, b"tid")),
        wait: field(text, b"wait"),
        locked: field(text, b"locked"),
        flushing: field(text, b"flushing"),
        logging: field(text, b"logging"),
        handles: field(text, b"handle_count"),
        blocks: field(text, b"blocks_logged"),
        raw: contains(text, b"=0x"),
    })
}

fn allocation(text: &[u8]) -> Detail<'_> {
    Detail::Allocation(Allocation {
        dev: device_of(text),
        ino: field(text, b"ino"),
        logical_block: field(text, b"lblk"),
        physical_block: field(text, b"block"),
        blocks: field(text, b"len"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests() {
        let request = |text: &'static str| block(BlockKind::Issue, text.as_bytes());
        let found = request("8,16 WSM 4096 () 2048 + 8 be,0,4 [jbd2/sda1-8]").unwrap();
        assert_eq!(
            (found.dev, found.bytes, found.sector, found.error),
            (8 << 20 | 16, 4096, Some(2048), None)
        );
        assert_eq!(found.rwbs, b"WSM");
        let found = request("7,0 FF () 18446744073709551615 + 0 0x0,0,0 [-5]").unwrap();
        assert_eq!((found.bytes, found.sector, found.error), (0, None, Some(5)));
        let found = request("8,0 R 64 + 8 [dd]").unwrap();
        assert_eq!((found.bytes, found.sector), (4096, Some(64)));
        assert_eq!(request("8,0 R (a b) x"), None);
    }

    #[test]
    fn arguments() {
        assert_eq!(
            listed(b"NR 17 (3, ffffffffffffffff, 1000, 0, 0, 0)")[..3],
            [Some(3), Some(-1), Some(4096)]
        );
        assert_eq!(
            named(b"fd: 0x3, buf: 0x7f, count: 0x340")[..4],
            [Some(3), Some(127), Some(832), None]
        );
    }

    #[test]
    fn switches_and_wakings() {
        assert_eq!(woken(b"kworker/u8:2:6943 [120] CPU:000"), Some(6943));
        let found = switch(b"jbd2/loop0-8:26985 [120] D ==> kworker/1:0H:24 [100]").unwrap();
        assert_eq!(
            (found.prev, found.prev_state, found.next),
            (26985, b'D', 24)
        );
    }
}
