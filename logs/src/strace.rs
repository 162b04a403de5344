//! The log of `strace`: strace(1). One line is one call, one half of one, a signal, or an exit.

use std::collections::{HashMap, HashSet};
use std::io::{Read, Write};

use anyhow::Result;
use serde::Serialize;

use crate::errno;
use crate::frames::{Call, Frames, UNKNOWN};
use crate::lines;

const NS: i64 = 1_000_000_000;
const DAY: i64 = 86_400 * NS;
/// Threads that are told apart; processes whose descriptors are followed, and descriptors of each.
const THREADS: usize = 1_000_000;
const PROCESSES: usize = 50_000;
const DESCRIPTORS: usize = 4096;
/// Bytes of a first half that are kept until the second one comes.
const HALF: usize = 4096;

/// Where an I/O call has its length and its offset: positions counted from the last argument (1).
struct Shape {
    name: &'static str,
    /// Argument with the descriptor, from 0.
    fd: Option<u8>,
    length: u8,
    offset: u8,
    vector: bool,
}

const fn shape(name: &'static str, fd: Option<u8>, length: u8, offset: u8) -> Shape {
    Shape {
        name,
        fd,
        length,
        offset,
        vector: false,
    }
}

const fn vector(name: &'static str, offset: u8) -> Shape {
    Shape {
        name,
        fd: Some(0),
        length: 0,
        offset,
        vector: true,
    }
}

/// The calls that a live recording keeps one by one (recorder/src/calls.rs), as strace prints them.
const SHAPES: &[Shape] = &[
    shape("read", Some(0), 1, 0),
    shape("write", Some(0), 1, 0),
    shape("pread64", Some(0), 2, 1),
    shape("pwrite64", Some(0), 2, 1),
    shape("pread", Some(0), 2, 1),
    shape("pwrite", Some(0), 2, 1),
    vector("readv", 0),
    vector("writev", 0),
    vector("preadv", 1),
    vector("pwritev", 1),
    vector("preadv2", 2),
    vector("pwritev2", 2),
    vector("vmsplice", 0),
    shape("sendfile", Some(1), 1, 0),
    shape("sendfile64", Some(1), 1, 0),
    shape("fsync", Some(0), 0, 0),
    shape("fdatasync", Some(0), 0, 0),
    shape("syncfs", Some(0), 0, 0),
    shape("sync", None, 0, 0),
    shape("sync_file_range", Some(0), 2, 3),
    shape("msync", None, 2, 0),
    shape("madvise", None, 2, 0),
    shape("open", None, 0, 0),
    shape("openat", None, 0, 0),
    shape("openat2", None, 0, 0),
    shape("creat", None, 0, 0),
    shape("truncate", None, 1, 0),
    shape("ftruncate", Some(0), 1, 0),
    shape("unlink", None, 0, 0),
    shape("unlinkat", None, 0, 0),
    shape("rename", None, 0, 0),
    shape("renameat", None, 0, 0),
    shape("renameat2", None, 0, 0),
    shape("fallocate", Some(0), 1, 2),
    shape("fadvise64", Some(0), 2, 3),
    shape("readahead", Some(0), 1, 2),
    shape("copy_file_range", Some(0), 2, 0),
    shape("splice", Some(0), 2, 0),
    shape("tee", Some(0), 2, 0),
    shape("getdents", Some(0), 1, 0),
    shape("getdents64", Some(0), 1, 0),
    shape("io_submit", None, 0, 0),
    shape("io_getevents", None, 0, 0),
    shape("io_pgetevents", None, 0, 0),
    shape("io_uring_enter", None, 0, 0),
    shape("mkdir", None, 0, 0),
    shape("mkdirat", None, 0, 0),
    shape("rmdir", None, 0, 0),
    shape("link", None, 0, 0),
    shape("linkat", None, 0, 0),
    shape("symlink", None, 0, 0),
    shape("symlinkat", None, 0, 0),
    shape("fsetxattr", Some(0), 0, 0),
    shape("fgetxattr", Some(0), 0, 0),
];

/// What a call does to threads and descriptors.
#[derive(Clone, Copy, PartialEq)]
enum Effect {
    None,
    Open,
    /// On a file by its name.
    Named,
    Close,
    Duplicate,
    /// Returns a descriptor that is no file's.
    OtherFd,
    Clone,
    Exec,
    Rename,
}

fn effect(name: &[u8]) -> Effect {
    match name {
        b"open" | b"openat" | b"openat2" | b"creat" => Effect::Open,
        b"truncate" | b"unlink" | b"unlinkat" | b"rename" | b"renameat" | b"renameat2" => {
            Effect::Named
        }
        b"close" => Effect::Close,
        b"dup" | b"dup2" | b"dup3" | b"fcntl" => Effect::Duplicate,
        b"socket" | b"accept" | b"accept4" | b"epoll_create" | b"epoll_create1" | b"eventfd"
        | b"eventfd2" | b"timerfd_create" | b"memfd_create" | b"signalfd4" | b"inotify_init1"
        | b"userfaultfd" | b"io_uring_setup" | b"perf_event_open" => Effect::OtherFd,
        b"clone" | b"clone3" | b"fork" | b"vfork" => Effect::Clone,
        b"execve" | b"execveat" => Effect::Exec,
        b"prctl" => Effect::Rename,
        _ => Effect::None,
    }
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Clock {
    /// No line with a time so far.
    None,
    Epoch,
    Day,
    Relative,
}

/// How a line's time is read: what it says, before it is put on the log's time line.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Stamp {
    clock: Clock,
    ns: i64,
    fraction: bool,
}

#[derive(Debug, PartialEq)]
enum Kind<'a> {
    /// A call: name, what follows its parenthesis.
    Call(&'a [u8], &'a [u8]),
    /// The second half of one.
    Resumed(&'a [u8], &'a [u8]),
    Exit(&'a [u8]),
    Other,
}

#[derive(Debug, PartialEq)]
struct Line<'a> {
    tid: Option<i32>,
    stamp: Option<Stamp>,
    kind: Kind<'a>,
}

/// A call's end, taken apart: arguments, result, error.
struct End<'a> {
    arguments: &'a [u8],
    ret: i64,
    failed: bool,
    path: Option<&'a [u8]>,
    dur_ns: i64,
}

struct Half {
    name: Vec<u8>,
    body: Vec<u8>,
    ts_ns: i64,
    fraction: bool,
}

#[derive(Default, Serialize)]
struct Thread {
    tgid: i32,
    ppid: i32,
    comm: String,
    start_ns: i64,
    end_ns: Option<i64>,
    exit_code: Option<i64>,
    #[serde(skip)]
    named: bool,
}

#[derive(Serialize)]
struct Summary<'a> {
    lines: u64,
    rejected: u64,
    clock: &'static str,
    last_ns: i64,
    /// Who the lines without a thread are of (thread 0 in the rows).
    main: i32,
    calls: u64,
    untimed: HashMap<String, u64>,
    threads: &'a HashMap<i32, Thread>,
    strings_full: bool,
}

struct Reader<'f, W: Write> {
    out: &'f mut Frames<W>,
    shapes: HashMap<&'static [u8], &'static Shape>,
    clock: Clock,
    now: i64,
    first: Option<i64>,
    days: i64,
    last: i64,
    main: i32,
    announced: HashSet<i32>,
    threads: HashMap<i32, Thread>,
    files: HashMap<i32, HashMap<i32, u32>>,
    halves: HashMap<i32, Half>,
    /// A line that strace's own message broke: its call goes on in the next line.
    broken: Option<i32>,
    calls: u64,
    untimed: HashMap<String, u64>,
}

/// Read a log; rows and a summary go to `out`.
pub fn read<W: Write>(input: impl Read, out: &mut Frames<W>) -> Result<()> {
    let mut reader = Reader {
        out,
        shapes: SHAPES
            .iter()
            .map(|shape| (shape.name.as_bytes(), shape))
            .collect(),
        clock: Clock::None,
        now: 0,
        first: None,
        days: 0,
        last: 0,
        main: 0,
        announced: HashSet::new(),
        threads: HashMap::new(),
        files: HashMap::new(),
        halves: HashMap::new(),
        broken: None,
        calls: 0,
        untimed: HashMap::new(),
    };
    let cell = std::cell::RefCell::new(&mut reader);
    let count = lines::each(
        input,
        |number, text| cell.borrow_mut().line(number, text),
        |bytes| Ok(cell.borrow_mut().out.progress(bytes)?),
    )?;
    reader.finish(count)
}

impl<W: Write> Reader<'_, W> {
    fn line(&mut self, number: u64, text: &[u8]) -> Result<()> {
        if text.iter().all(u8::is_ascii_whitespace) {
            return Ok(());
        }
        let text = &*lines::without_nuls(text);
        if let Some(tid) = self.broken.take() {
            if text.trim_ascii() == b"<unfinished ...>" {
                return Ok(());
            }
            if parse(text).is_none() {
                return self.resume(number, tid, None, text);
            }
        }
        let Some(line) = parse(text) else {
            return Ok(self.out.reject(number, text)?);
        };
        if let Some(stamp) = line.stamp {
            self.tick(stamp);
        }
        let tid = self.thread(line.tid);
        match line.kind {
            Kind::Call(name, body) => self.call(number, tid, line.stamp, name, body),
            Kind::Resumed(name, rest) => self.resume(number, tid, Some(name), rest),
            Kind::Exit(how) => {
                let now = self.now;
                if let Some(thread) = self.threads.get_mut(&tid) {
                    thread.end_ns = Some(now);
                    thread.exit_code = how
                        .strip_prefix(b"exited with ")
                        .and_then(|code| leading(code))
                        .map(|(code, _)| code.saturating_mul(256));
                }
                Ok(())
            }
            Kind::Other => {
                if let Some(made) = attached(text) {
                    self.announce(made);
                }
                Ok(())
            }
        }
    }

    fn announce(&mut self, tid: i32) {
        if self.announced.len() < THREADS {
            self.announced.insert(tid);
        }
    }

    /// Put a time on the log's time line; `now` is that of the line.
    fn tick(&mut self, stamp: Stamp) {
        if self.clock == Clock::None {
            self.clock = stamp.clock;
        }
        if stamp.clock != self.clock {
            return;
        }
        match stamp.clock {
            Clock::Epoch => self.now = stamp.ns,
            Clock::Relative => self.now = self.now.saturating_add(stamp.ns),
            Clock::Day => {
                let ns = stamp.ns.saturating_add(self.days);
                if ns < self.now.saturating_sub(DAY / 2) && self.first.is_some() {
                    self.days = self.days.saturating_add(DAY);
                }
                self.now = stamp.ns.saturating_add(self.days);
            }
            Clock::None => {}
        }
        self.first.get_or_insert(self.now);
        self.last = self.last.max(self.now);
    }

    /// The thread of a line. Lines without one are the first thread's, whose number is told
    /// only once there are others: until then, and in the rows, it is 0.
    fn thread(&mut self, told: Option<i32>) -> i32 {
        let tid = match told {
            Some(tid) if self.main == 0 && self.threads.contains_key(&0) => {
                if !self.announced.contains(&tid) && !self.threads.contains_key(&tid) {
                    self.main = tid;
                    0
                } else {
                    tid
                }
            }
            Some(tid) if tid == self.main => 0,
            Some(tid) => tid,
            None => 0,
        };
        if !self.threads.contains_key(&tid) && self.threads.len() < THREADS {
            let thread = Thread {
                tgid: tid,
                start_ns: self.now,
                comm: "?".into(),
                ..Thread::default()
            };
            self.threads.insert(tid, thread);
        }
        tid
    }

    fn call(
        &mut self,
        number: u64,
        tid: i32,
        stamp: Option<Stamp>,
        name: &[u8],
        body: &[u8],
    ) -> Result<()> {
        let fraction = stamp.is_some_and(|s| s.fraction);
        let cut = unfinished(body).or_else(|| {
            let made = attached(body)?;
            self.announce(made);
            self.broken = Some(tid);
            Some(&body[..memchr::memmem::rfind(body, b"strace: Process")?])
        });
        if let Some(cut) = cut {
            if self.halves.len() < THREADS {
                let kept = &cut[..cut.len().min(HALF)];
                let half = Half {
                    name: name.to_vec(),
                    body: kept.to_vec(),
                    ts_ns: self.now,
                    fraction,
                };
                if let Some(lost) = self.halves.insert(tid, half) {
                    self.unanswered(tid, lost)?;
                }
            }
            return Ok(());
        }
        match ending(body) {
            Some(end) => self.whole(tid, name, self.now, end),
            None if name == b"exit" || name == b"exit_group" => Ok(()),
            None => Ok(self.out.reject(number, body)?),
        }
    }

    /// The second half of a call, which may be without its first one when the log begins inside.
    fn resume(&mut self, number: u64, tid: i32, name: Option<&[u8]>, rest: &[u8]) -> Result<()> {
        let found = self.halves.remove(&tid);
        let Some(half) = found.filter(|half| name.is_none_or(|name| name == half.name)) else {
            return Ok(());
        };
        let mut body = half.body;
        body.extend(rest);
        let Some(mut end) = ending(&body) else {
            if half.name == b"exit" || half.name == b"exit_group" {
                return Ok(());
            }
            return Ok(self.out.reject(number, &body)?);
        };
        if end.dur_ns == UNKNOWN && half.fraction && name.is_some() {
            end.dur_ns = self.now - half.ts_ns;
        }
        self.whole(tid, &half.name, half.ts_ns, end)
    }

    /// A call that has not returned when the log ends, or that another one took the place of.
    fn unanswered(&mut self, tid: i32, half: Half) -> Result<()> {
        let end = End {
            arguments: &half.body,
            ret: UNKNOWN,
            failed: false,
            path: None,
            dur_ns: UNKNOWN,
        };
        self.whole(tid, &half.name, half.ts_ns, end)
    }

    fn whole(&mut self, tid: i32, name: &[u8], ts_ns: i64, end: End) -> Result<()> {
        self.calls += 1;
        let id = self.out.string(name);
        let does = effect(name);
        let opened = self.follow(tid, does, name, &end);
        if end.dur_ns != UNKNOWN {
            self.last = self.last.max(ts_ns.saturating_add(end.dur_ns));
            if self.clock == Clock::None {
                self.now = self.now.saturating_add(end.dur_ns);
            }
            if end.ret != UNKNOWN {
                self.out
                    .total(ts_ns, tid, id, end.dur_ns, end.failed, None)?;
            }
        } else if end.ret != UNKNOWN {
            let name = String::from_utf8_lossy(&name[..name.len().min(40)]).into_owned();
            if self.untimed.len() < 1000 || self.untimed.contains_key(&name) {
                *self.untimed.entry(name).or_default() += 1;
            }
            return Ok(());
        }
        let Some(shape) = self.shapes.get(name) else {
            return Ok(());
        };
        let (fd, named) = shape
            .fd
            .map_or((None, None), |at| descriptor(end.arguments, at));
        let path = match (opened, named, fd) {
            (Some(path), _, _) => path,
            (None, Some(path), _) if path.starts_with(b"/") => self.out.string(&unescaped(path)),
            (None, None, Some(fd)) => self.path_of(tid, fd),
            _ => 0,
        };
        let last = |at: u8| {
            if at == 0 {
                UNKNOWN
            } else {
                from_end(end.arguments, at)
            }
        };
        let bytes = if shape.vector {
            iovecs(end.arguments)
        } else {
            last(shape.length)
        };
        let call = Call {
            ts_ns,
            dur_ns: end.dur_ns,
            ret: end.ret,
            offset: last(shape.offset),
            bytes,
            tid,
            fd: fd.unwrap_or(i32::MIN),
            name: id,
            path,
        };
        Ok(self.out.call(&call)?)
    }

    /// What a call changes: descriptors, threads, names. The file of a call that goes by a name.
    fn follow(&mut self, tid: i32, does: Effect, name: &[u8], end: &End) -> Option<u32> {
        if does == Effect::None {
            return None;
        }
        let owner = self.threads.get(&tid).map_or(tid, |thread| thread.tgid);
        let done = end.ret != UNKNOWN && end.ret >= 0;
        let made = i32::try_from(end.ret).ok().filter(|_| done);
        match does {
            Effect::Open | Effect::Named => {
                let text = end
                    .path
                    .filter(|path| path.starts_with(b"/"))
                    .or_else(|| quoted(end.arguments))?;
                let path = self.out.string(&unescaped(text));
                if let (Effect::Open, Some(fd)) = (does, made) {
                    self.set_file(owner, fd, path);
                }
                return Some(path);
            }
            Effect::Close | Effect::OtherFd => {
                let fd = if does == Effect::Close {
                    descriptor(end.arguments, 0).0
                } else {
                    made
                };
                if let (true, Some(fd), Some(files)) = (done, fd, self.files.get_mut(&owner)) {
                    files.remove(&fd);
                }
            }
            Effect::Duplicate => {
                let copies =
                    name != b"fcntl" || memchr::memmem::find(end.arguments, b"F_DUPFD").is_some();
                if let (true, Some(new), (Some(old), _)) =
                    (copies, made, descriptor(end.arguments, 0))
                {
                    let path = self
                        .files
                        .get(&owner)
                        .and_then(|files| files.get(&old))
                        .copied();
                    self.set_file(owner, new, path.unwrap_or(0));
                }
            }
            Effect::Clone => {
                if let Some(child) = made.filter(|&child| child > 0) {
                    self.born(
                        owner,
                        child,
                        memchr::memmem::find(end.arguments, b"CLONE_THREAD").is_some(),
                    );
                }
            }
            Effect::Exec | Effect::Rename => {
                let changes = does == Effect::Exec || end.arguments.starts_with(b"PR_SET_NAME");
                if let (true, true, Some(text)) = (done, changes, quoted(end.arguments)) {
                    let text = unescaped(text);
                    let base = text.rsplit(|&b| b == b'/').next().unwrap_or_default();
                    let comm = String::from_utf8_lossy(&base[..base.len().min(15)]).into_owned();
                    if let Some(thread) = self.threads.get_mut(&tid) {
                        (thread.comm, thread.named) = (comm, true);
                    }
                }
            }
            Effect::None => {}
        }
        None
    }

    fn born(&mut self, owner: i32, child: i32, thread: bool) {
        self.announce(child);
        let comm = self
            .threads
            .get(&owner)
            .map_or("?".into(), |mother| mother.comm.clone());
        let above = self.threads.get(&owner).map_or(0, |mother| mother.ppid);
        let now = self.now;
        if self.threads.len() >= THREADS && !self.threads.contains_key(&child) {
            return;
        }
        let new = self.threads.entry(child).or_insert_with(|| Thread {
            start_ns: now,
            ..Thread::default()
        });
        new.tgid = if thread { owner } else { child };
        new.ppid = if thread { above } else { owner };
        if !new.named {
            new.comm = comm;
        }
        if !thread && self.files.len() < PROCESSES {
            let mut files = self.files.get(&owner).cloned().unwrap_or_default();
            if let Some(own) = self.files.get(&child) {
                files.extend(own);
            }
            self.files.insert(child, files);
        }
    }

    fn set_file(&mut self, owner: i32, fd: i32, path: u32) {
        if self.files.len() < PROCESSES || self.files.contains_key(&owner) {
            let files = self.files.entry(owner).or_default();
            if files.len() < DESCRIPTORS || files.contains_key(&fd) {
                files.insert(fd, path);
            }
        }
    }

    fn path_of(&self, tid: i32, fd: i32) -> u32 {
        let owner = self.threads.get(&tid).map_or(tid, |thread| thread.tgid);
        self.files
            .get(&owner)
            .and_then(|files| files.get(&fd))
            .copied()
            .unwrap_or(0)
    }

    fn finish(mut self, lines: u64) -> Result<()> {
        let halves: Vec<_> = self.halves.drain().collect();
        for (tid, half) in halves {
            self.unanswered(tid, half)?;
        }
        let clock = match self.clock {
            Clock::None => "none",
            Clock::Epoch => "epoch",
            Clock::Day => "day",
            Clock::Relative => "relative",
        };
        let summary = Summary {
            lines,
            rejected: self.out.rejected,
            clock,
            last_ns: self.last.max(self.now),
            main: self.main,
            calls: self.calls,
            untimed: std::mem::take(&mut self.untimed),
            threads: &self.threads,
            strings_full: self.out.full,
        };
        let json = serde_json::to_vec(&summary)?;
        Ok(self.out.summary(&json)?)
    }
}

// --- a line ------------------------------------------------------------------------------------------------

/// Digits at the beginning as a number, and what follows them.
fn leading(text: &[u8]) -> Option<(i64, &[u8])> {
    let digits = text.iter().take_while(|b| b.is_ascii_digit()).count();
    let number = std::str::from_utf8(&text[..digits]).ok()?.parse().ok()?;
    Some((number, &text[digits..]))
}

fn spaces(text: &[u8]) -> &[u8] {
    let count = text.iter().take_while(|&&b| b == b' ').count();
    &text[count..]
}

/// Nanoseconds of the digits behind a point.
fn fraction(digits: &[u8]) -> i64 {
    let mut ns = 0;
    for at in 0..9 {
        ns = ns * 10 + i64::from(digits.get(at).map_or(0, |d| d - b'0'));
    }
    ns
}

/// A time of -ttt, -tt, -t or -r, and what follows it.
fn stamp(text: &[u8]) -> Option<(Stamp, &[u8])> {
    let length = text
        .iter()
        .take_while(|b| b.is_ascii_digit() || matches!(b, b':' | b'.'))
        .count();
    let (token, rest) = text.split_at(length);
    if !rest.starts_with(b" ") {
        return None;
    }
    let point = memchr::memchr(b'.', token).unwrap_or(token.len());
    let (whole, digits) = token.split_at(point);
    let digits = digits.strip_prefix(b".").unwrap_or_default();
    if digits.iter().any(|b| !b.is_ascii_digit()) {
        return None;
    }
    let ns = fraction(digits);
    let (clock, seconds) = if whole.len() == 8 && whole[2] == b':' && whole[5] == b':' {
        let (hours, _) = leading(whole)?;
        let (minutes, _) = leading(&whole[3..])?;
        let (seconds, _) = leading(&whole[6..])?;
        (Clock::Day, hours * 3600 + minutes * 60 + seconds)
    } else {
        let (seconds, after) = leading(whole)?;
        let epoch = seconds > 100_000_000;
        if !after.is_empty() || (digits.is_empty() && !epoch) || seconds > 9_000_000_000 {
            return None;
        }
        (if epoch { Clock::Epoch } else { Clock::Relative }, seconds)
    };
    let mut rest = spaces(rest);
    if rest.starts_with(b"(+") {
        rest = spaces(&rest[memchr::memchr(b')', rest)? + 1..]);
    }
    Some((
        Stamp {
            clock,
            ns: seconds * NS + ns,
            fraction: !digits.is_empty(),
        },
        rest,
    ))
}

fn parse(text: &[u8]) -> Option<Line<'_>> {
    let mut rest = spaces(text);
    let mut tid = None;
    if let Some(after) = rest.strip_prefix(b"[pid") {
        let (number, after) = leading(spaces(after))?;
        tid = Some(i32::try_from(number).ok()?);
        rest = spaces(after.strip_prefix(b"]")?);
    } else if let Some((number, after)) = leading(rest) {
        if after.starts_with(b" ") {
            tid = Some(i32::try_from(number).ok()?);
            rest = spaces(after);
        }
    }
    let mut time = None;
    if let Some((found, after)) = stamp(rest) {
        time = Some(found);
        rest = after;
    }
    if rest.starts_with(b"[") {
        // The instruction pointer (-i) or the number of the call (-n).
        let end = memchr::memchr(b']', &rest[..rest.len().min(24)])?;
        if !rest[1..end]
            .iter()
            .all(|b| b.is_ascii_hexdigit() || matches!(b, b' ' | b'?'))
        {
            return None;
        }
        rest = spaces(&rest[end + 1..]);
    }
    Some(Line {
        tid,
        stamp: time,
        kind: kind(rest)?,
    })
}

fn kind(rest: &[u8]) -> Option<Kind<'_>> {
    if let Some(after) = rest.strip_prefix(b"<... ") {
        let end = memchr::memmem::find(&after[..after.len().min(80)], b" resumed>")?;
        return Some(Kind::Resumed(&after[..end], &after[end + 9..]));
    }
    if let Some(after) = rest.strip_prefix(b"+++ ") {
        return after
            .trim_ascii_end()
            .ends_with(b"+++")
            .then_some(Kind::Exit(after));
    }
    if rest.starts_with(b"--- ") || rest.starts_with(b"strace: ") {
        return Some(Kind::Other);
    }
    let word = rest
        .iter()
        .take_while(|b| b.is_ascii_alphanumeric() || **b == b'_')
        .count();
    let name = &rest[..word];
    let call = word > 0 && word < 64 && !name[0].is_ascii_digit() && rest.get(word) == Some(&b'(');
    call.then(|| Kind::Call(name, &rest[word + 1..]))
}

fn unfinished(body: &[u8]) -> Option<&[u8]> {
    body.trim_ascii_end()
        .strip_suffix(b"<unfinished ...>")
        .map(<[u8]>::trim_ascii_end)
}

/// The thread of "strace: Process 7 attached" at the end of a text.
fn attached(text: &[u8]) -> Option<i32> {
    let text = text.trim_ascii_end().strip_suffix(b" attached")?;
    let start = memchr::memmem::rfind(text, b"strace: Process ")?;
    i32::try_from(leading(&text[start + 16..])?.0).ok()
}

/// "… ) = RESULT …": the last place that looks so, as arguments may hold any text.
fn ending(body: &[u8]) -> Option<End<'_>> {
    let mut text = body.trim_ascii_end();
    let mut dur_ns = UNKNOWN;
    if let Some(inner) = text.strip_suffix(b">") {
        let start = memchr::memrchr(b'<', inner)?;
        if let Some(dur) = seconds(&inner[start + 1..]) {
            dur_ns = dur;
            text = inner[..start].trim_ascii_end();
        }
    }
    for equals in memchr::memrchr_iter(b'=', text) {
        let result = &text[equals + 1..];
        if equals == 0 || text[equals - 1] != b' ' || !result.starts_with(b" ") {
            continue;
        }
        let Some(arguments) = text[..equals].trim_ascii_end().strip_suffix(b")") else {
            continue;
        };
        if let Some((ret, failed, path)) = returned(&result[1..]) {
            return Some(End {
                arguments,
                ret,
                failed,
                path,
                dur_ns,
            });
        }
    }
    None
}

/// A result: number, whether it is an error, the path of a descriptor (-y).
fn returned(text: &[u8]) -> Option<(i64, bool, Option<&[u8]>)> {
    if text.starts_with(b"0x") {
        return Some((0, false, None));
    }
    let (number, rest) = if let Some(rest) = text.strip_prefix(b"?") {
        (UNKNOWN, rest)
    } else if let Some(digits) = text.strip_prefix(b"-") {
        let (number, rest) = leading(digits)?;
        (-number, rest)
    } else {
        leading(text)?
    };
    if number >= 0 {
        let path = rest.strip_prefix(b"<").map(|path| {
            let end = path
                .iter()
                .position(|b| matches!(b, b'<' | b'>'))
                .unwrap_or(path.len());
            &path[..end]
        });
        return Some((number, false, path));
    }
    let word = rest.trim_ascii_start();
    let length = word
        .iter()
        .take_while(|b| b.is_ascii_alphanumeric() || **b == b'_')
        .count();
    match errno::number(&word[..length]) {
        Some((error, failed)) => Some((-error, failed, None)),
        None if word.first() == Some(&b'E') => Some((-1, true, None)),
        None => Some((number, number != UNKNOWN, None)),
    }
}

/// Nanoseconds of "0.000012".
fn seconds(text: &[u8]) -> Option<i64> {
    let (whole, rest) = leading(text)?;
    let digits = rest.strip_prefix(b".")?;
    if digits.is_empty() || digits.iter().any(|b| !b.is_ascii_digit()) || whole > 9_000_000_000 {
        return None;
    }
    Some(whole * NS + fraction(digits))
}

// --- arguments ---------------------------------------------------------------------------------------------

/// The descriptor in argument `at` (0 or 1) and its name of -y.
fn descriptor(arguments: &[u8], at: u8) -> (Option<i32>, Option<&[u8]>) {
    let mut text = arguments;
    for place in 0..=at {
        let Some((number, rest)) = leading(text) else {
            return (None, None);
        };
        let mut name = None;
        let mut rest = rest;
        if let Some(path) = rest.strip_prefix(b"<") {
            // "<pipe:[7]>", "<TCP:[a->b]>", "</dev/null<char 1:3>>": an arrow's tip closes nothing.
            let mut depth = 1;
            let mut end = path.len();
            for (index, &byte) in path.iter().enumerate() {
                match byte {
                    b'<' => depth += 1,
                    b'>' if index > 0 && path[index - 1] == b'-' => {}
                    b'>' => depth -= 1,
                    _ => {}
                }
                if depth == 0 {
                    end = index;
                    break;
                }
            }
            let inner = &path[..end];
            let stop = memchr::memchr(b'<', inner).unwrap_or(end);
            name = Some(&inner[..stop]);
            rest = path.get(end + 1..).unwrap_or_default();
        }
        if place == at {
            return (i32::try_from(number).ok(), name);
        }
        let Some(comma) = memchr::memmem::find(rest, b", ") else {
            return (None, None);
        };
        text = &rest[comma + 2..];
    }
    (None, None)
}

/// The number that is argument `at`, counted from the last one (1).
fn from_end(arguments: &[u8], at: u8) -> i64 {
    let mut text = arguments;
    for _ in 1..at {
        let Some(comma) = memchr::memmem::rfind(text, b", ") else {
            return UNKNOWN;
        };
        // Not into a string, a structure or an array.
        if text[comma + 2..]
            .iter()
            .any(|b| matches!(b, b'"' | b'}' | b']'))
        {
            return UNKNOWN;
        }
        text = &text[..comma];
    }
    let token = match memchr::memmem::rfind(text, b", ") {
        Some(comma) => &text[comma + 2..],
        None => text,
    };
    match leading(token) {
        Some((number, b"")) => number,
        _ => UNKNOWN,
    }
}

/// The sum of an iovec array's lengths; unknown when strace left some out.
fn iovecs(arguments: &[u8]) -> i64 {
    let mut sum: i64 = 0;
    let mut at = 0;
    let mut any = false;
    while at < arguments.len() {
        match arguments[at] {
            b'"' => at += string_end(&arguments[at + 1..]).map_or(arguments.len(), |end| end + 1),
            b'i' if arguments[at..].starts_with(b"iov_len=") => {
                let Some((number, _)) = leading(&arguments[at + 8..]) else {
                    return UNKNOWN;
                };
                any = true;
                sum = sum.saturating_add(number);
                at += 8;
            }
            b'.' if arguments[at..].starts_with(b"...]") => return UNKNOWN,
            _ => {}
        }
        at += 1;
    }
    if any {
        sum
    } else {
        UNKNOWN
    }
}

/// Where a string ends: the place of the closing quote.
fn string_end(text: &[u8]) -> Option<usize> {
    let mut at = 0;
    while at < text.len() {
        match text[at] {
            b'\\' => at += 1,
            b'"' => return Some(at),
            _ => {}
        }
        at += 1;
    }
    None
}

/// The first string of the arguments, unless strace cut it short.
fn quoted(arguments: &[u8]) -> Option<&[u8]> {
    let text = &arguments[memchr::memchr(b'"', arguments)? + 1..];
    let end = string_end(text)?;
    (!text[end + 1..].starts_with(b"...")).then_some(&text[..end])
}

/// A path without strace's escapes; bytes that are not UTF-8 as \xNN.
fn unescaped(text: &[u8]) -> Vec<u8> {
    if memchr::memchr(b'\\', text).is_none() && std::str::from_utf8(text).is_ok() {
        return text.to_vec();
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        let byte = text[at];
        at += 1;
        let Some(&next) = text.get(at).filter(|_| byte == b'\\') else {
            bytes.push(byte);
            continue;
        };
        at += 1;
        bytes.push(match next {
            b'n' => b'\n',
            b't' => b'\t',
            b'r' => b'\r',
            b'v' => 11,
            b'f' => 12,
            b'0'..=b'7' => {
                let mut value = u32::from(next - b'0');
                let mut digits = 1;
                while digits < 3 && matches!(text.get(at), Some(b'0'..=b'7')) {
                    value = value * 8 + u32::from(text[at] - b'0');
                    at += 1;
                    digits += 1;
                }
                (value & 0xff) as u8
            }
            other => other,
        });
    }
    let mut clean = Vec::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        clean.extend(chunk.valid().as_bytes());
        for byte in chunk.invalid() {
            clean.extend(format!("\\x{byte:02X}").as_bytes());
        }
    }
    clean
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn end(body: &str) -> (i64, bool, i64) {
        let end = ending(body.as_bytes()).expect(body);
        (end.ret, end.failed, end.dur_ns)
    }

    #[test]
    fn results() {
        assert_eq!(end(r#"3, "x", 5) = 5 <0.000012>"#), (5, false, 12_000));
        assert_eq!(
            end(r#"3</a>, ") = 7", 5)   = -1 EIO (Input/output error) <1.5>"#),
            (-5, true, 1_500_000_000)
        );
        assert_eq!(
            end("AT_FDCWD, \"/x\", O_RDONLY) = 3</etc/x>"),
            (3, false, UNKNOWN)
        );
        assert_eq!(
            end("0) = ? ERESTARTSYS (To be restarted)"),
            (-512, false, UNKNOWN)
        );
        assert_eq!(end("NULL) = 0x7f00"), (0, false, UNKNOWN));
        assert_eq!(
            end("[{fd=4}], 1, 0) = 1 ([{fd=4, revents=POLLIN}])"),
            (1, false, UNKNOWN)
        );
        assert!(ending(b"3, \"x\", 5").is_none());
    }

    #[test]
    fn arguments() {
        assert_eq!(
            descriptor(b"5</a<char 1:3>>, 1", 0),
            (Some(5), Some(&b"/a"[..]))
        );
        assert_eq!(
            descriptor(b"5<TCP:[1->2]>, 6</b>, NULL, 9", 1),
            (Some(6), Some(&b"/b"[..]))
        );
        assert_eq!(from_end(br#"1, "a, 2, 3", 784, 64"#, 2), 784);
        assert_eq!(from_end(br#"1, "a, 2", 784"#, 2), UNKNOWN);
        assert_eq!(
            iovecs(br#"1, [{iov_base="iov_len=9", iov_len=10}, {iov_base="", iov_len=5}], 2"#),
            15
        );
        assert_eq!(
            iovecs(br#"1, [{iov_base="", iov_len=5}, ...], 2000"#),
            UNKNOWN
        );
        assert_eq!(unescaped(br"/a\40b\377\n"), b"/a b\\xFF\n");
    }

    #[test]
    fn lines() {
        let line = parse(b"[pid 7] 12:34:56.5 read(3").unwrap();
        assert_eq!(line.tid, Some(7));
        assert_eq!(
            line.stamp.unwrap().ns,
            (12 * 3600 + 34 * 60 + 56) * NS + NS / 2
        );
        assert_eq!(line.kind, Kind::Call(b"read", b"3"));
        assert_eq!(
            parse(b"9 0.5 fsync(3").unwrap().stamp.unwrap().clock,
            Clock::Relative
        );
        assert!(parse(b"the answer (x) = 3").is_none());
    }

    proptest! {
        #[test]
        fn no_text_stops_it(text in proptest::collection::vec(any::<u8>(), 0..200), cut in 0usize..400) {
            let mut frames = Frames::new(Vec::new());
            let log = b"7 1700000000.5 pwritev(3</a>, [{iov_base=\"x\\\"\", iov_len=1}], 1, 5) = 1 <0.1>\n[pid 8] 1.0 <... dup2 resumed>) = 1";
            let mut data = log[..cut.min(log.len())].to_vec();
            data.extend(&text);
            data.extend(b"\n8 vfork(strace: Process 9 attached\n <unfinished ...>\n");
            data.extend(&log[cut.min(log.len())..]);
            read(&data[..], &mut frames).unwrap();
        }
    }
}
