//! Events in the order of their times, into the tables of a trace.

use ahash::HashMap;
use serde::Serialize;

use super::event::{Block, CallName, Detail, Event, Journal, Page, Writeback};
use super::threads::{Seen, Threads};
use crate::error::{Error, Result};
use crate::output::{rows, Output, Table};

/// Names of events that are not used here, which are counted.
const OTHERS: usize = 10_000;
const OTHER_BYTES: usize = 60;
/// Functions of a kernel stack that are kept.
const FUNCTIONS: usize = 64;

/// What is known of a whole trace.
#[derive(Serialize)]
struct Summary<'a, S: Serialize> {
    lines: u64,
    rejected: u64,
    events: u64,
    first_ns: i64,
    last_ns: i64,
    /// Events that are not used, by name.
    others: &'a HashMap<String, u64>,
    #[serde(flatten)]
    seen: Seen,
    strings_full: bool,
    /// What a format alone knows.
    #[serde(flatten)]
    own: S,
}

pub struct Collector<'o> {
    pub output: &'o mut Output,
    threads: Threads,
    blocks: Table<rows::BlockEvent>,
    pages: Table<rows::Page>,
    writeback: Table<rows::Writeback>,
    throttles: Table<rows::Throttle>,
    journal: Table<rows::Journal>,
    allocations: Table<rows::Allocation>,
    events: u64,
    first_ns: Option<i64>,
    last_ns: i64,
    others: HashMap<String, u64>,
    /// The thread that left a CPU in the last event, and the functions of its kernel stack so far.
    stack_of: Option<i32>,
    stack: Vec<u8>,
    functions: usize,
}

impl<'o> Collector<'o> {
    pub fn new(output: &'o mut Output) -> Self {
        Self {
            threads: Threads::new(output),
            blocks: output.table(),
            pages: output.table(),
            writeback: output.table(),
            throttles: output.table(),
            journal: output.table(),
            allocations: output.table(),
            output,
            events: 0,
            first_ns: None,
            last_ns: 0,
            others: HashMap::default(),
            stack_of: None,
            stack: Vec::new(),
            functions: 0,
        }
    }

    /// Count an event that is not used.
    pub fn count_other(&mut self, name: &[u8]) -> Result<()> {
        self.end_stack()?;
        let name = String::from_utf8_lossy(&name[..name.len().min(OTHER_BYTES)]);
        if let Some(count) = self.others.get_mut(name.as_ref()) {
            *count += 1;
        } else if self.others.len() < OTHERS {
            self.others.insert(name.into_owned(), 1);
        }
        Ok(())
    }

    /// Take an event. Error::Disordered when it is earlier than the one before.
    pub fn event(&mut self, event: &Event) -> Result<()> {
        self.end_stack()?;
        let ts_ns = event.ts_ns;
        if ts_ns < self.last_ns && self.events > 0 {
            return Err(Error::Disordered);
        }
        self.events += 1;
        self.first_ns.get_or_insert(ts_ns);
        self.last_ns = self.last_ns.max(ts_ns);
        self.threads.note(event.tid, event.tgid, event.comm, ts_ns);
        match &event.detail {
            Detail::Thread => Ok(()),
            Detail::Switch(switch) => {
                self.stack_of = (switch.prev != 0).then_some(switch.prev);
                self.threads.switch(ts_ns, switch)
            }
            Detail::Wake(tid) => self.threads.wake(*tid, ts_ns),
            Detail::BlockedReason { tid, io, caller } => {
                let caller = self.output.optional(caller)?;
                self.threads.explain_wait(*tid, ts_ns, *io, caller);
                Ok(())
            }
            Detail::Fork { child } => {
                self.threads.fork(*child, event.tid);
                Ok(())
            }
            Detail::Exit => {
                self.threads.exit(event.tid, ts_ns);
                Ok(())
            }
            Detail::Enter { call, arguments } => {
                let name = self.call_name(*call)?;
                self.threads.enter_call(event.tid, ts_ns, name, *arguments)
            }
            Detail::Return { call, ret } => {
                let name = self.call_name(*call)?;
                self.threads.leave_call(event.tid, ts_ns, name, *ret)
            }
            Detail::Block(block) => self.block(event, block),
            Detail::Page(page) => self.page(event, page),
            Detail::Writeback(writeback) => self.writeback(event, writeback),
            Detail::Journal(journal) => self.journal(event, journal),
            Detail::Throttle(throttle) => self.throttles.push(&rows::Throttle {
                ts_ns,
                pause_ms: throttle.pause_ms,
                dirty_pages: throttle.dirty_pages,
                limit_pages: throttle.limit_pages,
                tid: event.tid,
            }),
            Detail::Allocation(allocation) => self.allocations.push(&rows::Allocation {
                ts_ns,
                dev: allocation.dev,
                ino: allocation.ino,
                logical_block: allocation.logical_block,
                physical_block: allocation.physical_block,
                blocks: allocation.blocks,
                tid: event.tid,
            }),
        }
    }

    /// Whether the last event may have a kernel stack behind it.
    pub fn wants_stack(&self) -> bool {
        self.stack_of.is_some()
    }

    /// The next function of the stack behind the last event.
    pub fn stack_function(&mut self, function: &[u8]) {
        if self.functions < FUNCTIONS {
            if self.functions > 0 {
                self.stack.push(b'\n');
            }
            self.stack.extend(function);
            self.functions += 1;
        }
    }

    fn end_stack(&mut self) -> Result<()> {
        let Some(tid) = self.stack_of.take() else {
            return Ok(());
        };
        if self.functions > 0 {
            let stack = self.output.text(&self.stack)?;
            self.threads.stack(tid, stack);
        }
        self.stack.clear();
        self.functions = 0;
        Ok(())
    }

    fn call_name(&mut self, call: CallName) -> Result<rows::Text> {
        match call {
            CallName::Name(name) => self.output.name(name),
            CallName::Number(number) => self.output.name(format!("#{number}").as_bytes()),
        }
    }

    fn block(&mut self, event: &Event, block: &Block) -> Result<()> {
        self.blocks.push(&rows::BlockEvent {
            n: event.n,
            ts_ns: event.ts_ns,
            dev: block.dev,
            bytes: block.bytes,
            sector: block.sector,
            error: block.error,
            tid: event.tid,
            comm: self.output.name(event.comm)?,
            kind: self.output.name(block.kind.name())?,
            rwbs: self.output.name(block.rwbs)?,
        })
    }

    fn page(&mut self, event: &Event, page: &Page) -> Result<()> {
        self.pages.push(&rows::Page {
            n: event.n,
            ts_ns: event.ts_ns,
            dev: page.dev,
            ino: page.ino,
            first: page.first,
            count: page.count,
            tid: event.tid,
            kind: self.output.name(page.kind.name())?,
        })
    }

    fn writeback(&mut self, event: &Event, writeback: &Writeback) -> Result<()> {
        self.writeback.push(&rows::Writeback {
            n: event.n,
            ts_ns: event.ts_ns,
            dev: writeback.dev,
            ino: writeback.ino,
            wrote_pages: writeback.wrote_pages,
            age_s: writeback.age_s,
            tid: event.tid,
            name: self.output.name(writeback.name)?,
            comm: self.output.name(event.comm)?,
            reason: self.output.optional(writeback.reason)?,
        })
    }

    fn journal(&mut self, event: &Event, journal: &Journal) -> Result<()> {
        self.journal.push(&rows::Journal {
            ts_ns: event.ts_ns,
            dev: journal.dev,
            transaction: journal.transaction,
            wait: journal.wait,
            locked: journal.locked,
            flushing: journal.flushing,
            logging: journal.logging,
            handles: journal.handles,
            blocks: journal.blocks,
            name: self.output.name(journal.name)?,
            raw: Some(journal.raw),
        })
    }

    /// The end of the trace, of so many lines; `own` is what its format alone knows.
    pub fn finish(mut self, lines: u64, own: impl Serialize) -> Result<()> {
        self.end_stack()?;
        let seen = self.threads.finish(self.last_ns, self.output)?;
        self.blocks.finish()?;
        self.pages.finish()?;
        self.writeback.finish()?;
        self.throttles.finish()?;
        self.journal.finish()?;
        self.allocations.finish()?;
        let summary = Summary {
            lines,
            rejected: self.output.messages.rejected(),
            events: self.events,
            first_ns: self.first_ns.unwrap_or(0),
            last_ns: self.last_ns,
            others: &self.others,
            seen,
            strings_full: self.output.strings.full(),
            own,
        };
        self.output.finish(&summary)
    }
}
