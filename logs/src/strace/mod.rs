//! The log of `strace`: strace(1). One line is one call, one half of one, a signal, or an exit.

mod arguments;
mod ending;
mod errno;
mod line;
mod processes;
mod time_line;

use std::io::Read;

use ahash::HashMap;
use iowhy_tables::calls::{by_name, Call as Known, OffsetIn};
use serde::Serialize;

use crate::error::Result;
use crate::lines;
use crate::output::rows::Call;
use crate::output::{Output, Table};
use crate::text::number;
use crate::totals::Totals;
use arguments::{asks_durable, descriptor, from_end, iovecs, nameless, unescaped};
use ending::{ending, End};
use line::{attached, parse, unfinished, Clock, Kind, Stamp};
use processes::{Processes, THREADS};
use time_line::TimeLine;

/// Bytes of a first half that are kept until the second one comes.
const HALF: usize = 4096;
/// Names of calls without a duration, which are counted.
const UNTIMED: usize = 1000;
const UNTIMED_BYTES: usize = 40;

/// The first half of a call that is interrupted in the log.
struct Half {
    name: Vec<u8>,
    body: Vec<u8>,
    ts_ns: i64,
    /// Its time is finer than seconds.
    fraction: bool,
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
    untimed: &'a HashMap<String, u64>,
    strings_full: bool,
}

struct Reader<'o> {
    output: &'o mut Output,
    calls: Table<Call>,
    totals: Totals,
    time: TimeLine,
    processes: Processes,
    halves: HashMap<i32, Half>,
    /// A line that strace's own message broke: its call goes on in the next line.
    broken: Option<i32>,
    count: u64,
    untimed: HashMap<String, u64>,
}

/// Read a log into the tables calls, call_totals and threads.
pub fn read(input: impl Read, output: &mut Output) -> Result<()> {
    let mut reader = Reader {
        calls: output.table(),
        totals: Totals::new(output),
        output,
        time: TimeLine::default(),
        processes: Processes::default(),
        halves: HashMap::default(),
        broken: None,
        count: 0,
        untimed: HashMap::default(),
    };
    let lines = lines::each(input, &mut reader)?;
    reader.finish(lines)
}

impl lines::Sink for Reader<'_> {
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
            return self.output.messages.reject(number, text);
        };
        if let Some(stamp) = line.stamp {
            self.time.advance(stamp);
        }
        let tid = self.processes.thread(line.tid, self.time.now());
        match line.kind {
            Kind::Call(name, body) => self.call(number, tid, line.stamp, name, body)?,
            Kind::Resumed(name, rest) => self.resume(number, tid, Some(name), rest)?,
            Kind::Exit(how) => self.processes.end(tid, self.time.now(), exit_code(how)),
            Kind::Other => {
                if let Some(new) = attached(text) {
                    self.processes.announce(new);
                }
            }
        }
        Ok(())
    }

    fn done(&mut self, bytes: u64) -> Result<()> {
        self.output.messages.done(bytes)
    }
}

impl Reader<'_> {
    /// A call, or the first half of one.
    fn call(
        &mut self,
        number: u64,
        tid: i32,
        stamp: Option<Stamp>,
        name: &[u8],
        body: &[u8],
    ) -> Result<()> {
        let cut = unfinished(body).or_else(|| {
            let new = attached(body)?;
            self.processes.announce(new);
            self.broken = Some(tid);
            Some(&body[..memchr::memmem::rfind(body, b"strace: Process")?])
        });
        if let Some(cut) = cut {
            if self.halves.len() < THREADS {
                let half = Half {
                    name: name.to_vec(),
                    body: cut[..cut.len().min(HALF)].to_vec(),
                    ts_ns: self.time.now(),
                    fraction: stamp.is_some_and(|stamp| stamp.fraction),
                };
                if let Some(lost) = self.halves.insert(tid, half) {
                    self.unanswered(tid, &lost)?;
                }
            }
            return Ok(());
        }
        match ending(body) {
            Some(end) => self.whole(tid, name, self.time.now(), &end),
            None if never_returns(name) => Ok(()),
            None => self.output.messages.reject(number, body),
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
            if never_returns(&half.name) {
                return Ok(());
            }
            return self.output.messages.reject(number, &body);
        };
        if end.dur_ns.is_none() && half.fraction && name.is_some() {
            end.dur_ns = Some(self.time.now() - half.ts_ns);
        }
        self.whole(tid, &half.name, half.ts_ns, &end)
    }

    /// A call that has not returned when the log ends, or that another one took the place of.
    fn unanswered(&mut self, tid: i32, half: &Half) -> Result<()> {
        let end = End {
            arguments: &half.body,
            ret: None,
            failed: false,
            path: None,
            dur_ns: None,
        };
        self.whole(tid, &half.name, half.ts_ns, &end)
    }

    fn whole(&mut self, tid: i32, name: &[u8], ts_ns: i64, end: &End) -> Result<()> {
        self.count += 1;
        let id = self.output.name(name)?;
        let now = self.time.now();
        let known = by_name(name);
        let named = self.processes.follow(tid, known, end, now, self.output)?;
        match (end.dur_ns, end.ret) {
            (Some(dur_ns), ret) => {
                self.time.spend(ts_ns, dur_ns);
                if ret.is_some() {
                    let key = (ts_ns, tid, id);
                    self.totals.add(key, dur_ns, end.failed, None)?;
                }
            }
            (None, Some(_)) => {
                self.count_untimed(name);
                return Ok(());
            }
            (None, None) => {}
        }
        let Some(known) = known.filter(|known| known.record.is_some()) else {
            return Ok(());
        };
        let (fd, fd_path) = known
            .fd
            .map_or((None, None), |at| descriptor(end.arguments, at));
        let path = match (named, fd_path, fd) {
            (Some(path), _, _) => path,
            (None, Some(path), _) if path.starts_with(b"/") => {
                self.output.text(&unescaped(path))?
            }
            (None, Some(name), _) => match nameless(name) {
                Some(name) => self.output.text(name)?,
                None => None,
            },
            (None, None, Some(fd)) => self.processes.file_of(tid, fd).path,
            (None, None, None) => None,
        };
        let durable = self.durable(tid, known, end.arguments).then_some(true);
        self.calls.push(&Call {
            ts_ns,
            dur_ns: end.dur_ns,
            ret: end.ret,
            offset: offset(known, end.arguments),
            bytes: length(known, end.arguments),
            tid,
            fd,
            name: id,
            path,
            durable,
        })
    }

    /// Whether a call writes, and flags say that this is durable when it returns: those of the open, or its own.
    fn durable(&self, tid: i32, known: &Known, arguments: &[u8]) -> bool {
        let Some((Some(fd), _)) = known.written.map(|at| descriptor(arguments, at)) else {
            return false;
        };
        let by_call = known.flags.is_some() && asks_durable(arguments);
        by_call || self.processes.file_of(tid, fd).durable
    }

    fn count_untimed(&mut self, name: &[u8]) {
        let name = String::from_utf8_lossy(&name[..name.len().min(UNTIMED_BYTES)]).into_owned();
        if self.untimed.len() < UNTIMED || self.untimed.contains_key(&name) {
            *self.untimed.entry(name).or_default() += 1;
        }
    }

    fn finish(mut self, lines: u64) -> Result<()> {
        let mut halves: Vec<_> = self.halves.drain().collect();
        halves.sort_by_key(|(_, half)| half.ts_ns);
        for (tid, half) in halves {
            self.unanswered(tid, &half)?;
        }
        let main = self.processes.main();
        self.calls.finish()?;
        self.totals.finish()?;
        self.processes.finish(self.output)?;
        let summary = Summary {
            lines,
            rejected: self.output.messages.rejected(),
            clock: match self.time.clock() {
                Clock::None => "none",
                Clock::Epoch => "epoch",
                Clock::Day => "day",
                Clock::Relative => "relative",
            },
            last_ns: self.time.last(),
            main,
            calls: self.count,
            untimed: &self.untimed,
            strings_full: self.output.strings.full(),
        };
        self.output.finish(&summary)
    }
}

/// The length that a call is given, as strace prints it.
fn length(known: &Known, arguments: &[u8]) -> Option<i64> {
    if known.vector {
        return iovecs(arguments);
    }
    from_end(arguments, places_from_end(known, known.bytes?)?)
}

/// The offset that a call is given; one that an argument points to is in brackets.
fn offset(known: &Known, arguments: &[u8]) -> Option<i64> {
    if known.offset_in != OffsetIn::Argument {
        return None;
    }
    from_end(arguments, places_from_end(known, known.offset?)?)
}

/// An argument's place counted from the last one (1), as strings and arrays come before numbers.
fn places_from_end(known: &Known, argument: u8) -> Option<u8> {
    known.arguments?.checked_sub(argument)
}

fn never_returns(name: &[u8]) -> bool {
    matches!(name, b"exit" | b"exit_group")
}

/// As wait() gives it, of "exited with 1 +++"; a signal has none.
fn exit_code(how: &[u8]) -> Option<i64> {
    let (code, _) = number(how.strip_prefix(b"exited with ")?)?;
    Some(code.saturating_mul(256))
}
