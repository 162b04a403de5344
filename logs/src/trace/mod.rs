//! Kernel trace events as text: `perf script`, and ftrace's `trace` with its kin (trace-cmd report, atrace).

pub mod collector;
pub mod event;
mod line;
mod printed;
mod surroundings;
mod thread;
mod threads;

use std::io::Read;

use serde::Serialize;

use crate::error::{Error, Result};
use crate::lines;
use crate::output::Output;
use collector::Collector;
use event::Event;
pub use line::Dialect;
use surroundings::{is_silent, kernel_function};

/// Comments at the beginning that are kept: perf's say what machine it was.
const HEADERS: usize = 100;
const HEADER_BYTES: usize = 200;
/// How often progress is reported while events are sorted.
const PROGRESS_EVENTS: usize = 100_000;

/// What only texts know of a trace.
#[derive(Serialize)]
struct Own {
    headers: Vec<String>,
}

/// The summary of a trace whose events are in no order: read it again with --sort.
#[derive(Serialize)]
struct Disordered {
    disordered: bool,
}

impl Disordered {
    const SUMMARY: Self = Self { disordered: true };
}

struct Reader<'o> {
    collector: Collector<'o>,
    dialect: Dialect,
    headers: Vec<String>,
}

/// Read a trace as it comes. When it is not in the order of time the summary says `disordered` alone, and
/// the rows are of no use.
pub fn read(input: impl Read, dialect: Dialect, output: &mut Output) -> Result<()> {
    let mut reader = Reader::new(dialect, output);
    match lines::each(input, &mut reader) {
        Ok(count) => reader.finish(count),
        Err(Error::Disordered) => reader.collector.output.finish(&Disordered::SUMMARY),
        Err(error) => Err(error),
    }
}

/// Where an event's first line is.
struct Place {
    ts_ns: i64,
    start: u64,
    line: u32,
}

/// Read a trace whose events come in no order (the buffers of several CPUs, one after the other). `whole` is
/// all of it, mapped; 24 bytes of memory go to each event.
pub fn read_sorted(whole: &[u8], dialect: Dialect, output: &mut Output) -> Result<()> {
    let mut places: Vec<Place> = Vec::new();
    let (mut at, mut number) = (0, 0u64);
    let mut reader = Reader::new(dialect, output);
    // A line without an event belongs to the event before it.
    while at < whole.len() {
        let (line, next) = lines::first(&whole[at..]);
        number += 1;
        match time_of(dialect, line) {
            Some(ts_ns) => places.push(Place {
                ts_ns,
                start: at as u64,
                line: number as u32,
            }),
            None if places.is_empty() => lines::Sink::line(&mut reader, number, line)?,
            None => {}
        }
        at += next;
    }
    places.sort_by_key(|place| place.ts_ns);
    for (done, place) in places.iter().enumerate() {
        reader.event_at(whole, place)?;
        if done % PROGRESS_EVENTS == 0 {
            let share = done as f64 / places.len() as f64;
            lines::Sink::done(&mut reader, (share * whole.len() as f64) as u64)?;
        }
    }
    reader.finish(number)
}

/// The time of a line's event; None: it has no event.
fn time_of(dialect: Dialect, line: &[u8]) -> Option<i64> {
    line::parse(dialect, &lines::without_nuls(line)).map(|line| line.ts_ns)
}

impl<'o> Reader<'o> {
    fn new(dialect: Dialect, output: &'o mut Output) -> Self {
        Self {
            collector: Collector::new(output),
            dialect,
            headers: Vec::new(),
        }
    }

    /// An event and the lines without one behind it.
    fn event_at(&mut self, whole: &[u8], place: &Place) -> Result<()> {
        let mut at = place.start as usize;
        let mut number = u64::from(place.line);
        loop {
            let (line, next) = lines::first(&whole[at..]);
            lines::Sink::line(self, number, line)?;
            (at, number) = (at + next, number + 1);
            if at >= whole.len() || time_of(self.dialect, lines::first(&whole[at..]).0).is_some() {
                return Ok(());
            }
        }
    }

    fn finish(self, lines: u64) -> Result<()> {
        let headers = self.headers;
        self.collector.finish(lines, Own { headers })
    }
}

impl lines::Sink for Reader<'_> {
    fn line(&mut self, number: u64, text: &[u8]) -> Result<()> {
        let text = &*lines::without_nuls(text);
        if let Some(line) = line::parse(self.dialect, text) {
            let Some(detail) = printed::detail(&line) else {
                return self.collector.count_other(line.name);
            };
            return self.collector.event(&Event {
                n: number as i64,
                ts_ns: line.ts_ns,
                tid: line.tid,
                tgid: line.tgid,
                comm: line.comm,
                detail,
            });
        }
        if self.collector.wants_stack() {
            if let Some(function) = kernel_function(text) {
                self.collector.stack_function(function);
                return Ok(());
            }
        }
        if text.starts_with(b"# ") && self.headers.len() < HEADERS {
            let header = &text[..text.len().min(HEADER_BYTES)];
            self.headers
                .push(String::from_utf8_lossy(header).into_owned());
        }
        if !is_silent(self.dialect, text) {
            self.collector.output.messages.reject(number, text)?;
        }
        Ok(())
    }

    fn done(&mut self, bytes: u64) -> Result<()> {
        self.collector.output.messages.done(bytes)
    }
}
