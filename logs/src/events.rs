//! Kernel trace events as text: `perf script`, and ftrace's `trace` with its kin (trace-cmd report, atrace).
//!
//! A line is taken apart here; what an event's text says is that of its print format
//! (/sys/kernel/tracing/events/*/*/format). What the events mean for threads and calls is in `threads`.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io::{Read, Write};

use anyhow::Result;
use serde::Serialize;

use crate::frames::{Frames, UNKNOWN};
use crate::lines;
use crate::threads::{Arguments, Thread, Threads};

const NS: i64 = 1_000_000_000;
const PAGE_BYTES: i64 = 4096;
/// Names of events that are not used here, which are counted.
const OTHERS: usize = 10_000;
const HEADERS: usize = 100;
const HEADER_MAX: usize = 200;
const FRAMES_MAX: usize = 64;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Dialect {
    Perf,
    Ftrace,
}

/// A line with an event.
#[derive(Debug, PartialEq)]
struct Event<'a> {
    comm: &'a [u8],
    tid: i32,
    tgid: Option<i32>,
    ts_ns: i64,
    name: &'a [u8],
    /// "sys_write(" and "sys_write ->" of ftrace: an enter and an exit.
    mark: Mark,
    args: &'a [u8],
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Mark {
    Plain,
    Enter,
    Exit,
}

#[derive(Serialize)]
struct Summary<'a> {
    lines: u64,
    rejected: u64,
    events: u64,
    first_ns: i64,
    last_ns: i64,
    /// Events come in no order: read again with --sort.
    disordered: bool,
    others: &'a HashMap<String, u64>,
    headers: &'a [String],
    threads: &'a HashMap<i32, Thread>,
    calls: u64,
    switches_in: bool,
    switches_out: bool,
    wakes: bool,
    reasons: bool,
    stacks: bool,
    strings_full: bool,
}

struct Reader<'f, W: Write> {
    out: &'f mut Frames<W>,
    dialect: Dialect,
    threads: Threads,
    events: u64,
    first: Option<i64>,
    last: i64,
    disordered: bool,
    others: HashMap<String, u64>,
    headers: Vec<String>,
    /// The thread that left a CPU in the last event, and the functions of its kernel stack so far.
    stack_of: Option<i32>,
    stack: Vec<u8>,
    stack_frames: usize,
    stacks: bool,
}

/// Read a trace; rows and a summary go to `out`.
pub fn read<W: Write>(input: impl Read, dialect: Dialect, out: &mut Frames<W>) -> Result<()> {
    let mut reader = Reader::new(dialect, out);
    let cell = RefCell::new(&mut reader);
    let read = lines::each(
        input,
        |number, text| cell.borrow_mut().line(number, text),
        |bytes| Ok(cell.borrow_mut().out.progress(bytes)?),
    );
    match read {
        Ok(count) => reader.finish(count),
        Err(error) if error.is::<Disordered>() => reader.finish(0),
        Err(error) => Err(error),
    }
}

/// An event is earlier than the one before it: the rows so far are of no use.
#[derive(Debug)]
struct Disordered;

impl std::fmt::Display for Disordered {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("events are not in the order of their times")
    }
}

impl std::error::Error for Disordered {}

/// Read a trace whose events come in no order (the buffers of several CPUs, one after the other). `whole` is
/// all of it, mapped; 16 bytes of memory go to each event.
pub fn read_sorted<W: Write>(whole: &[u8], dialect: Dialect, out: &mut Frames<W>) -> Result<()> {
    let mut places: Vec<(i64, u64, u32)> = Vec::new();
    let (mut at, mut number) = (0, 0u64);
    let mut reader = Reader::new(dialect, out);
    // A line without an event belongs to the event before it.
    while at < whole.len() {
        let end = memchr::memchr(b'\n', &whole[at..]).map_or(whole.len(), |end| at + end + 1);
        number += 1;
        match parse(dialect, ended(&whole[at..end])) {
            Some(event) => places.push((event.ts_ns, at as u64, number as u32)),
            None if places.is_empty() => reader.line(number, ended(&whole[at..end]))?,
            None => {}
        }
        at = end;
    }
    places.sort_by_key(|place| place.0);
    for (done, &(_, start, first)) in places.iter().enumerate() {
        let mut at = start as usize;
        let mut line = u64::from(first);
        loop {
            let end = memchr::memchr(b'\n', &whole[at..]).map_or(whole.len(), |end| at + end + 1);
            reader.line(line, ended(&whole[at..end]))?;
            (at, line) = (end, line + 1);
            let next = memchr::memchr(b'\n', &whole[at..]).map_or(whole.len(), |end| at + end);
            if at >= whole.len() || parse(dialect, ended(&whole[at..next])).is_some() {
                break;
            }
        }
        if done % 100_000 == 0 {
            let share = done as f64 / places.len() as f64;
            reader.out.progress((share * whole.len() as f64) as u64)?;
        }
    }
    reader.finish(number)
}

fn ended(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    &line[..line.len().min(lines::LINE_MAX)]
}

impl<'f, W: Write> Reader<'f, W> {
    fn new(dialect: Dialect, out: &'f mut Frames<W>) -> Self {
        Self {
            out,
            dialect,
            threads: Threads::default(),
            events: 0,
            first: None,
            last: 0,
            disordered: false,
            others: HashMap::new(),
            headers: Vec::new(),
            stack_of: None,
            stack: Vec::new(),
            stack_frames: 0,
            stacks: false,
        }
    }

    fn line(&mut self, number: u64, text: &[u8]) -> Result<()> {
        let text = &*lines::without_nuls(text);
        if let Some(event) = parse(self.dialect, text) {
            self.end_stack();
            return self.event(number as i64, &event);
        }
        if self.stack_of.is_some() {
            if let Some(symbol) = kernel_symbol(text) {
                if self.stack_frames < FRAMES_MAX {
                    if self.stack_frames > 0 {
                        self.stack.push(b'\n');
                    }
                    self.stack.extend(symbol);
                    self.stack_frames += 1;
                }
                return Ok(());
            }
        }
        if text.starts_with(b"# ") && self.headers.len() < HEADERS {
            let header = &text[..text.len().min(HEADER_MAX)];
            self.headers
                .push(String::from_utf8_lossy(header).into_owned());
        }
        let silent = match self.dialect {
            Dialect::Perf => silent_of_perf(text),
            Dialect::Ftrace => silent_of_ftrace(text),
        };
        if !silent {
            self.out.reject(number, text)?;
        }
        Ok(())
    }

    fn end_stack(&mut self) {
        if let Some(tid) = self.stack_of.take() {
            if self.stack_frames > 0 {
                let id = self.out.string(&self.stack);
                self.threads.stack(tid, id);
                self.stacks = true;
            }
        }
        self.stack.clear();
        self.stack_frames = 0;
    }

    fn event(&mut self, n: i64, event: &Event) -> Result<()> {
        let ts = event.ts_ns;
        let enter = event.mark == Mark::Enter && event.name.starts_with(b"sys_");
        let exit = event.mark == Mark::Exit && event.name.starts_with(b"sys_");
        let used = enter || exit || is_used(event.name);
        if !used {
            let name = String::from_utf8_lossy(&event.name[..event.name.len().min(60)]);
            if let Some(count) = self.others.get_mut(name.as_ref()) {
                *count += 1;
            } else if self.others.len() < OTHERS {
                self.others.insert(name.into_owned(), 1);
            }
            return Ok(());
        }
        if ts < self.last && self.events > 0 {
            self.disordered = true;
            return Err(Disordered.into());
        }
        self.events += 1;
        self.first = Some(self.first.map_or(ts, |first| first.min(ts)));
        self.last = self.last.max(ts);
        self.threads.seen(event.tid, event.tgid, event.comm, ts);
        if enter {
            return self.enter(event, &event.name[4..]);
        }
        if exit {
            return self.exit(event, &event.name[4..]);
        }
        match event.name {
            b"sched_switch" => self.switch(event),
            b"sched_waking" | b"sched_wakeup" | b"sched_wakeup_new" => {
                if let Some(tid) = woken(event.args) {
                    self.threads.wake(tid, ts, self.out)?;
                }
                Ok(())
            }
            b"sched_blocked_reason" => {
                let io = contains(event.args, b"iowait=1") || contains(event.args, b"io_wait=1");
                let tid = after(event.args, b"pid=").and_then(signed);
                let caller = after(event.args, b"caller=").map_or(&b""[..], word);
                if let Some(tid) = tid.and_then(|tid| i32::try_from(tid).ok()) {
                    let caller = if caller.is_empty() {
                        0
                    } else {
                        self.out.string(caller)
                    };
                    self.threads.reason(tid, ts, io, caller);
                }
                Ok(())
            }
            b"sched_process_fork" => {
                let child = after(event.args, b"child_pid=").and_then(signed);
                if let Some(child) = child.and_then(|tid| i32::try_from(tid).ok()) {
                    self.threads.born(child, event.tid);
                }
                Ok(())
            }
            b"sched_process_exit" => {
                self.threads.gone(event.tid, ts);
                Ok(())
            }
            b"sys_enter" => match after(event.args, b"NR ").and_then(signed) {
                Some(number) => {
                    let name = format!("#{number}");
                    self.enter(event, name.as_bytes())
                }
                None => Ok(()),
            },
            b"sys_exit" => match after(event.args, b"NR ").and_then(signed) {
                Some(number) => {
                    let name = format!("#{number}");
                    self.exit(event, name.as_bytes())
                }
                None => Ok(()),
            },
            name if name.starts_with(b"sys_enter_") => self.enter(event, &name[10..]),
            name if name.starts_with(b"sys_exit_") => self.exit(event, &name[9..]),
            name if name.starts_with(b"block_") => self.block(n, event),
            name if name.starts_with(b"mm_filemap_")
                || name == b"writeback_dirty_folio"
                || name == b"writeback_dirty_page" =>
            {
                self.page(n, event)
            }
            name if name.starts_with(b"writeback_")
                || name.starts_with(b"jbd2_")
                || matches!(name, b"balance_dirty_pages" | b"ext4_allocate_blocks") =>
            {
                self.filesystem(n, event)
            }
            _ => Ok(()),
        }
    }

    fn switch(&mut self, event: &Event) -> Result<()> {
        let Some(switch) = parse_switch(event.args) else {
            return Ok(());
        };
        let ts = event.ts_ns;
        if switch.prev != 0 {
            self.threads.seen(switch.prev, None, switch.prev_comm, ts);
            self.threads
                .leave(switch.prev, ts, switch.state, self.out)?;
            self.stack_of = Some(switch.prev);
        }
        if switch.next != 0 {
            self.threads.seen(switch.next, None, switch.next_comm, ts);
            self.threads.arrive(switch.next, ts, self.out)?;
        }
        Ok(())
    }

    fn enter(&mut self, event: &Event, name: &[u8]) -> Result<()> {
        let id = self.out.string(name);
        let arguments = if name.starts_with(b"#") {
            numbers(event.args)
        } else {
            named(event.args)
        };
        self.threads
            .enter(event.tid, event.ts_ns, id, arguments, self.out)
    }

    fn exit(&mut self, event: &Event, name: &[u8]) -> Result<()> {
        let id = self.out.string(name);
        let ret = if name.starts_with(b"#") {
            after(event.args, b"= ").and_then(signed)
        } else if let Some(digits) = after(event.args, b"0x") {
            hexadecimal(digits).map(|(number, _)| number)
        } else {
            let at = event.args.iter().position(u8::is_ascii_digit);
            at.and_then(|at| {
                let minus = at > 0 && event.args[at - 1] == b'-';
                signed(&event.args[at - usize::from(minus)..])
            })
        };
        self.threads
            .exit(event.tid, event.ts_ns, id, ret.unwrap_or(UNKNOWN), self.out)
    }

    /// n, ts, dev, bytes, sector, error; tid, comm, kind, rwbs.
    fn block(&mut self, n: i64, event: &Event) -> Result<()> {
        let kind: &[u8] = match event.name {
            b"block_bio_queue" | b"block_getrq" => b"queue",
            b"block_io_start" | b"block_rq_insert" => b"insert",
            b"block_rq_issue" => b"issue",
            b"block_rq_requeue" => b"requeue",
            b"block_rq_complete" => b"complete",
            _ => b"end",
        };
        let Some(request) = parse_request(event.args) else {
            return Ok(());
        };
        let (comm, kind) = (self.out.string(event.comm), self.out.string(kind));
        let rwbs = self.out.string(request.rwbs);
        let error = signed(request.rest).map_or(UNKNOWN, i64::abs);
        Ok(self.out.row(
            b'b',
            &[
                n,
                event.ts_ns,
                request.dev,
                request.bytes,
                request.sector,
                error,
            ],
            &[event.tid as u32, comm, kind, rwbs],
        )?)
    }

    /// n, ts, dev, ino, first, count; tid, what.
    fn page(&mut self, n: i64, event: &Event) -> Result<()> {
        let what: &[u8] = match event.name {
            b"mm_filemap_get_pages" => b"lookup",
            b"mm_filemap_add_to_page_cache" => b"add",
            b"mm_filemap_delete_from_page_cache" => b"delete",
            name if name.starts_with(b"mm_") => return Ok(()),
            _ => b"dirty",
        };
        let Some((dev, rest)) = device(event.args) else {
            return Ok(());
        };
        let rest = rest.strip_prefix(b":").unwrap_or(rest);
        let Some(rest) = rest.strip_prefix(b" ino").and_then(|rest| rest.get(1..)) else {
            return Ok(());
        };
        // The inode is hexadecimal, but for the events of writeback.
        let ino = if event.args.starts_with(b"bdi") {
            signed(rest)
        } else {
            hexadecimal(rest).map(|(ino, _)| ino)
        };
        let offsets = after(event.args, b" ofs=");
        let first = offsets
            .and_then(signed)
            .map(|bytes| bytes.div_euclid(PAGE_BYTES));
        let count = if what == b"lookup" {
            let end = offsets
                .and_then(|text| text.get(memchr::memchr(b'-', text)? + 1..))
                .and_then(signed);
            match (first, end) {
                (Some(first), Some(end)) => Some(end.saturating_add(1) / PAGE_BYTES - first),
                _ => None,
            }
        } else {
            let order = after(event.args, b" order=").and_then(signed).unwrap_or(0);
            Some(1 << order.clamp(0, 30))
        };
        let (Some(ino), Some(count)) = (ino, count.filter(|&count| count >= 0)) else {
            return Ok(());
        };
        let what = self.out.string(what);
        Ok(self.out.row(
            b'p',
            &[n, event.ts_ns, dev, ino, first.unwrap_or(UNKNOWN), count],
            &[event.tid as u32, what],
        )?)
    }

    /// n, ts, dev, ino, seven numbers; tid, name, comm, word, raw.
    fn filesystem(&mut self, n: i64, event: &Event) -> Result<()> {
        let names: &[&[u8]] = match event.name {
            b"balance_dirty_pages" => &[b"pause", b"dirty", b"limit"],
            b"ext4_allocate_blocks" => &[b"lblk", b"block", b"len"],
            name if name.starts_with(b"jbd2_") => &[
                b"transaction",
                b"wait",
                b"locked",
                b"flushing",
                b"logging",
                b"handle_count",
                b"blocks_logged",
            ],
            _ => &[b"wrote", b"age"],
        };
        let mut row = [UNKNOWN; 11];
        (row[0], row[1]) = (n, event.ts_ns);
        row[2] = device(event.args)
            .map(|(dev, _)| dev)
            .or_else(|| field(event.args, b"dev"))
            .unwrap_or(UNKNOWN);
        row[3] = field(event.args, b"ino").unwrap_or(UNKNOWN);
        for (at, name) in names.iter().enumerate() {
            row[4 + at] = field(event.args, name).unwrap_or(UNKNOWN);
        }
        if event.name.starts_with(b"jbd2_") && row[4] == UNKNOWN {
            row[4] = field(event.args, b"tid").unwrap_or(UNKNOWN);
        }
        let reason = after(event.args, b"reason=").map_or(&b""[..], word);
        let word = if reason.is_empty() {
            0
        } else {
            self.out.string(reason)
        };
        let (name, comm) = (self.out.string(event.name), self.out.string(event.comm));
        let raw = u32::from(contains(event.args, b"=0x"));
        Ok(self
            .out
            .row(b'f', &row, &[event.tid as u32, name, comm, word, raw, 0])?)
    }

    fn finish(mut self, lines: u64) -> Result<()> {
        self.end_stack();
        self.threads.finish(self.last, self.out)?;
        let summary = Summary {
            lines,
            rejected: self.out.rejected,
            events: self.events,
            first_ns: self.first.unwrap_or(0),
            last_ns: self.last,
            disordered: self.disordered,
            others: &self.others,
            headers: &self.headers,
            threads: self.threads.all(),
            calls: self.threads.calls,
            switches_in: self.threads.switches_in,
            switches_out: self.threads.switches_out,
            wakes: self.threads.wakes,
            reasons: self.threads.reasons,
            stacks: self.stacks,
            strings_full: self.out.full,
        };
        let json = serde_json::to_vec(&summary)?;
        Ok(self.out.summary(&json)?)
    }
}

/// Is the event one that tells something here?
fn is_used(name: &[u8]) -> bool {
    matches!(
        name,
        b"block_bio_queue"
            | b"block_io_start"
            | b"block_getrq"
            | b"block_rq_insert"
            | b"block_rq_issue"
            | b"block_rq_requeue"
            | b"block_rq_complete"
            | b"block_bio_complete"
            | b"sched_switch"
            | b"sched_waking"
            | b"sched_wakeup"
            | b"sched_wakeup_new"
            | b"sched_process_fork"
            | b"sched_process_exit"
            | b"sched_blocked_reason"
            | b"sched_stat_iowait"
            | b"task_newtask"
            | b"sys_enter"
            | b"sys_exit"
            | b"writeback_single_inode_start"
            | b"writeback_single_inode"
            | b"writeback_start"
            | b"writeback_exec"
            | b"writeback_dirty_folio"
            | b"writeback_dirty_page"
            | b"balance_dirty_pages"
            | b"jbd2_start_commit"
            | b"jbd2_commit_locking"
            | b"jbd2_end_commit"
            | b"jbd2_run_stats"
            | b"ext4_allocate_blocks"
            | b"mm_filemap_get_pages"
            | b"mm_filemap_add_to_page_cache"
            | b"mm_filemap_delete_from_page_cache"
    ) || name.starts_with(b"sys_enter_")
        || name.starts_with(b"sys_exit_")
}

// --- a line ------------------------------------------------------------------------------------------------

fn parse(dialect: Dialect, text: &[u8]) -> Option<Event<'_>> {
    let mut from = 0;
    // The time is the first "SECONDS.FRACTION: " that has what comes before a time before it.
    while let Some(at) = memchr::memchr(b':', &text[from..]) {
        let colon = from + at;
        if let Some((start, ts_ns)) = time_before(text, colon) {
            let head = &text[..start];
            let rest = text[colon + 1..].trim_ascii_start();
            if rest.len() < text.len() - colon - 1 {
                let found = match dialect {
                    Dialect::Perf => perf(head, ts_ns, rest),
                    Dialect::Ftrace => ftrace(head, ts_ns, rest),
                };
                if found.is_some() {
                    return found;
                }
            }
        }
        from = colon + 1;
    }
    None
}

/// The time that ends before the colon: where it begins, and nanoseconds.
fn time_before(text: &[u8], colon: usize) -> Option<(usize, i64)> {
    let digits = |end: usize| {
        text[..end]
            .iter()
            .rev()
            .take_while(|b| b.is_ascii_digit())
            .count()
    };
    let fraction = digits(colon);
    let point = (colon - fraction).checked_sub(1)?;
    if fraction == 0 || text[point] != b'.' {
        return None;
    }
    let whole = digits(point);
    let start = point - whole;
    if whole == 0 || whole > 9 || start == 0 || !text[start - 1].is_ascii_whitespace() {
        return None;
    }
    let mut ns = 0;
    for at in 0..9 {
        let digit = if at < fraction {
            text[point + 1 + at] - b'0'
        } else {
            0
        };
        ns = ns * 10 + i64::from(digit);
    }
    let seconds = text[start..point]
        .iter()
        .fold(0, |sum, b| sum * 10 + i64::from(b - b'0'));
    Some((start, seconds * NS + ns))
}

/// The last word of a text, and what is before it.
fn last_word(text: &[u8]) -> (&[u8], &[u8]) {
    let text = text.trim_ascii_end();
    let start = text
        .iter()
        .rposition(u8::is_ascii_whitespace)
        .map_or(0, |at| at + 1);
    (&text[..start], &text[start..])
}

fn bracketed(word: &[u8]) -> bool {
    word.len() > 2
        && word[0] == b'['
        && word[word.len() - 1] == b']'
        && word[1..word.len() - 1].iter().all(u8::is_ascii_digit)
}

/// "comm pid/tid [cpu] flags" and "period subsystem:event: text".
fn perf<'a>(head: &'a [u8], ts_ns: i64, rest: &'a [u8]) -> Option<Event<'a>> {
    let (mut before, mut last) = last_word(head);
    if !bracketed(last) {
        let (earlier, other) = last_word(before);
        if bracketed(other) {
            (before, last) = (earlier, other);
        }
    }
    if bracketed(last) {
        (before, last) = last_word(before);
    } else if process(last).is_none() {
        // Letters of the latency format.
        (before, last) = last_word(before);
    }
    let (tgid, tid) = process(last)?;
    let comm = before.trim_ascii();
    if comm.is_empty() {
        return None;
    }
    let rest = match number(rest) {
        Some((_, after)) if after.starts_with(b" ") => after.trim_ascii_start(),
        _ => rest,
    };
    let colon = memchr::memchr(b':', rest)?;
    let (system, rest) = (&rest[..colon], &rest[colon + 1..]);
    let name = word(rest);
    let lower = |b: &u8| b.is_ascii_lowercase() || b.is_ascii_digit() || *b == b'_';
    if system.is_empty()
        || system[0].is_ascii_digit()
        || !system.iter().all(lower)
        || name.is_empty()
        || rest.get(name.len()) != Some(&b':')
    {
        return None;
    }
    let args = rest[name.len() + 1..].trim_ascii();
    Some(Event {
        comm,
        tid,
        tgid,
        ts_ns,
        name,
        mark: Mark::Plain,
        args,
    })
}

/// "pid/tid" or "tid".
fn process(word: &[u8]) -> Option<(Option<i32>, i32)> {
    let whole = |text: &[u8]| {
        let digits = text.strip_prefix(b"-").unwrap_or(text);
        if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
            return None;
        }
        signed(text).and_then(|number| i32::try_from(number).ok())
    };
    match memchr::memchr(b'/', word) {
        Some(at) => Some((Some(whole(&word[..at])?), whole(&word[at + 1..])?)),
        None => Some((None, whole(word)?)),
    }
}

/// "comm-tid (tgid) [cpu] flags" and "event: text".
fn ftrace<'a>(head: &'a [u8], ts_ns: i64, rest: &'a [u8]) -> Option<Event<'a>> {
    let (mut before, last) = last_word(head);
    if !bracketed(last) {
        let (earlier, other) = last_word(before);
        if bracketed(other) && flags(last) {
            before = earlier;
        } else {
            // The latency format without brackets: "0d..2.".
            let digits = last.iter().take_while(|b| b.is_ascii_digit()).count();
            let letters = &last[digits..];
            if digits == 0 || !(4..=6).contains(&letters.len()) || !letters.iter().all(flag) {
                return None;
            }
        }
    }
    let mut tgid = None;
    let trimmed = before.trim_ascii_end();
    if trimmed.ends_with(b")") {
        let open = memchr::memrchr(b'(', trimmed)?;
        let inside = trimmed[open + 1..trimmed.len() - 1].trim_ascii();
        tgid = number(inside).filter(|(_, rest)| rest.is_empty());
        if tgid.is_none() && !inside.iter().all(|&b| b == b'-') {
            return None;
        }
        before = &trimmed[..open];
    }
    let (_, task) = last_word(before);
    let dash = memchr::memrchr(b'-', task)?;
    let (tid, end) = number(&task[dash + 1..])?;
    if !end.is_empty() {
        return None;
    }
    let trimmed = before.trim_ascii_end();
    let comm = trimmed[..trimmed.len() - (task.len() - dash)].trim_ascii_start();
    let name = word(rest);
    let after = &rest[name.len()..];
    let (mark, skip) = match after {
        _ if name.is_empty() => return None,
        [b':', ..] => (Mark::Plain, 1),
        [b'(', ..] => (Mark::Enter, 1),
        [b' ', b'-', b'>', ..] => (Mark::Exit, 3),
        _ => return None,
    };
    Some(Event {
        comm,
        tid: i32::try_from(tid).ok()?,
        tgid: tgid.and_then(|(tgid, _)| i32::try_from(tgid).ok()),
        ts_ns,
        name,
        mark,
        args: after[skip..].trim_ascii(),
    })
}

fn flag(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'#')
}

fn flags(word: &[u8]) -> bool {
    (4..=6).contains(&word.len()) && word.iter().all(flag)
}

/// The function of a line of a kernel stack: "\tffffffff81399b71 name+0x41 ([kernel.kallsyms])".
fn kernel_symbol(text: &[u8]) -> Option<&[u8]> {
    let rest = text.trim_ascii_start();
    if rest.len() == text.len() {
        return None;
    }
    let space = memchr::memchr(b' ', rest)?;
    if space == 0 || !rest[..space].iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    let rest = &rest[space + 1..];
    let open = memchr::memmem::find(rest, b" (")?;
    let place = &rest[open + 2..];
    let kernel = place.starts_with(b"[")
        || (place.starts_with(b"/") && (contains(place, b"vmlinux") || contains(place, b".ko")));
    let end = rest[..open].iter().position(|&b| b == b'+').unwrap_or(open);
    (kernel && end > 0 && memchr::memchr(b' ', &rest[..end]).is_none()).then(|| &rest[..end])
}

/// Lines that belong to perf's output and say nothing: stacks, comments, empty ones.
fn silent_of_perf(text: &[u8]) -> bool {
    let rest = text.trim_ascii_start();
    if rest.is_empty() || text.starts_with(b"#") {
        return true;
    }
    let digits = rest.iter().take_while(|b| b.is_ascii_hexdigit()).count();
    rest.len() < text.len()
        && digits > 0
        && rest.get(digits) == Some(&b' ')
        && rest
            .get(digits + 1)
            .is_some_and(|b| !b.is_ascii_whitespace())
}

/// The same of ftrace's.
fn silent_of_ftrace(text: &[u8]) -> bool {
    let rest = text.trim_ascii_start();
    let starts: [&[u8]; 5] = [
        b"cpus=",
        b"version = ",
        b"trace-cmd",
        b"TRACE:",
        b"capturing trace",
    ];
    let digits = rest.iter().take_while(|b| b.is_ascii_hexdigit()).count();
    rest.is_empty()
        || rest.starts_with(b"#")
        || rest.starts_with(b"=> ")
        || (digits >= 8 && rest.get(digits) == Some(&b' '))
        || starts.iter().any(|start| text.starts_with(start))
        || (text.starts_with(b"CPU:") && contains(text, b" ["))
        || contains(text, b"<stack trace>")
}

// --- an event's text ---------------------------------------------------------------------------------------

struct Switch<'a> {
    prev: i32,
    prev_comm: &'a [u8],
    state: u8,
    next: i32,
    next_comm: &'a [u8],
}

/// "prev_comm=a prev_pid=1 prev_prio=120 prev_state=D ==> next_comm=b next_pid=2 …", or trace-cmd's own
/// "a:1 [120] D ==> b:2 [120]".
fn parse_switch(args: &[u8]) -> Option<Switch<'_>> {
    let arrow = memchr::memmem::find(args, b" ==> ")?;
    let (left, right) = (&args[..arrow], &args[arrow + 5..]);
    let id = |text: &[u8]| signed(text).and_then(|tid| i32::try_from(tid).ok());
    if let Some(rest) = left.strip_prefix(b"prev_comm=") {
        let end = memchr::memmem::rfind(rest, b" prev_pid=")?;
        let next = right.strip_prefix(b"next_comm=")?;
        let next_end = memchr::memmem::rfind(next, b" next_pid=")?;
        return Some(Switch {
            prev: id(&rest[end + 10..])?,
            prev_comm: &rest[..end],
            state: *after(&rest[end..], b"prev_state=")?.first()?,
            next: id(&next[next_end + 10..])?,
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
    (prio.starts_with(b"[")).then_some(())?;
    Some(Switch {
        prev: id(&before[colon + 1..])?,
        prev_comm: &before[..colon],
        state: *state.first()?,
        next: id(&next[next_colon + 1..])?,
        next_comm: &next[..next_colon],
    })
}

/// "comm=a pid=1 …", or trace-cmd's "a:1 [120] …".
fn woken(args: &[u8]) -> Option<i32> {
    let tid = match after(args, b" pid=") {
        Some(rest) => signed(rest),
        None => {
            let end = memchr::memmem::find(args, b" [")?;
            signed(&args[memchr::memrchr(b':', &args[..end])? + 1..])
        }
    };
    tid.and_then(|tid| i32::try_from(tid).ok())
}

struct Request<'a> {
    dev: i64,
    rwbs: &'a [u8],
    bytes: i64,
    sector: i64,
    rest: &'a [u8],
}

/// "8,0 WS 4096 () 2048 + 8 be,0,4 [name or error]": bytes, command and priority may be missing.
fn parse_request(args: &[u8]) -> Option<Request<'_>> {
    let (major, rest) = number(args)?;
    let (minor, rest) = number(rest.strip_prefix(b",")?)?;
    let rest = rest.strip_prefix(b" ")?;
    let rwbs = word(rest);
    let mut rest = rest[rwbs.len()..].strip_prefix(b" ")?;
    if rwbs.is_empty() {
        return None;
    }
    let mut bytes = None;
    let digits = rest.iter().take_while(|b| b.is_ascii_digit()).count();
    if digits > 0 && !rest[digits..].starts_with(b" + ") {
        bytes = number(rest).map(|(bytes, _)| bytes);
        rest = rest[digits..].strip_prefix(b" ")?;
    }
    if rest.starts_with(b"(") {
        rest = rest[memchr::memchr(b')', rest)? + 1..].strip_prefix(b" ")?;
    }
    let digits = rest.iter().take_while(|b| b.is_ascii_digit()).count();
    // The sector of a flush is 2^64 - 1: none.
    let sector = if digits == 0 {
        return None;
    } else {
        number(rest).map(|(sector, _)| sector)
    };
    let rest = rest[digits..].strip_prefix(b" + ")?;
    let (sectors, rest) = number(rest)?;
    let open = memchr::memchr(b'[', rest)?;
    let close = memchr::memrchr(b']', rest)?;
    Some(Request {
        dev: major << 20 | minor,
        rwbs,
        bytes: bytes.unwrap_or(sectors.saturating_mul(512)),
        sector: sector.unwrap_or(UNKNOWN),
        rest: rest.get(open + 1..close)?,
    })
}

/// "bdi 8:0" or "dev 8,0" or "dev=8:0", at the beginning.
fn device(args: &[u8]) -> Option<(i64, &[u8])> {
    let rest = args
        .strip_prefix(b"dev")
        .or_else(|| args.strip_prefix(b"bdi"))?;
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

/// Arguments of raw_syscalls:sys_enter: "NR 17 (3, 7f00, 1000, 0, 0, 0)", hexadecimal.
fn numbers(args: &[u8]) -> Arguments {
    let mut found = [UNKNOWN; 6];
    if let Some(open) = memchr::memchr(b'(', args) {
        let mut rest = &args[open + 1..];
        for place in &mut found {
            let Some((number, after)) = hexadecimal(rest) else {
                break;
            };
            *place = number;
            let Some(next) = after.strip_prefix(b", ") else {
                break;
            };
            rest = next;
        }
    }
    found
}

/// Arguments of syscalls:sys_enter_NAME: "fd: 0x3, buf: 0x7f00, count: 0x10"; ftrace leaves 0x away.
fn named(args: &[u8]) -> Arguments {
    let mut found = [UNKNOWN; 6];
    let mut rest = args;
    for place in &mut found {
        loop {
            let Some(at) = memchr::memmem::find(rest, b": ") else {
                return found;
            };
            rest = &rest[at + 2..];
            let digits = rest.strip_prefix(b"0x").unwrap_or(rest);
            if let Some((number, after)) = hexadecimal(digits) {
                *place = number;
                rest = after;
                break;
            }
        }
    }
    found
}

// --- numbers and words -------------------------------------------------------------------------------------

fn contains(text: &[u8], part: &[u8]) -> bool {
    memchr::memmem::find(text, part).is_some()
}

fn after<'a>(text: &'a [u8], part: &[u8]) -> Option<&'a [u8]> {
    memchr::memmem::find(text, part).map(|at| &text[at + part.len()..])
}

/// Letters, digits, _ and . at the beginning.
fn word(text: &[u8]) -> &[u8] {
    let length = text
        .iter()
        .take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.'))
        .count();
    &text[..length]
}

/// Digits at the beginning as a number that fits 63 bits, and what follows them.
fn number(text: &[u8]) -> Option<(i64, &[u8])> {
    let mut value = 0i64;
    let mut digits = 0;
    for &byte in text.iter().take_while(|b| b.is_ascii_digit()) {
        value = value.checked_mul(10)?.checked_add(i64::from(byte - b'0'))?;
        digits += 1;
    }
    (digits > 0).then(|| (value, &text[digits..]))
}

fn signed(text: &[u8]) -> Option<i64> {
    match text.strip_prefix(b"-") {
        Some(rest) => number(rest).map(|(value, _)| -value),
        None => number(text).map(|(value, _)| value),
    }
}

/// Hexadecimal digits at the beginning as 64 bits, taken as signed, and what follows them.
fn hexadecimal(text: &[u8]) -> Option<(i64, &[u8])> {
    let digits = text.iter().take_while(|b| b.is_ascii_hexdigit()).count();
    let value = u64::from_str_radix(std::str::from_utf8(&text[..digits]).ok()?, 16).ok()?;
    Some((value as i64, &text[digits..]))
}

/// The number of "name=1" or "name 1" behind a space, a colon or the beginning.
fn field(args: &[u8], name: &[u8]) -> Option<i64> {
    memchr::memmem::find_iter(args, name).find_map(|at| {
        if at > 0 && !matches!(args[at - 1], b' ' | b':') {
            return None;
        }
        let rest = &args[at + name.len()..];
        let rest = rest
            .strip_prefix(b"=")
            .or_else(|| rest.strip_prefix(b" "))?;
        match rest.strip_prefix(b"0x") {
            Some(digits) => hexadecimal(digits).map(|(value, _)| value),
            None => signed(rest),
        }
    })
}

#[cfg(test)]
#[path = "events_tests.rs"]
mod tests;
