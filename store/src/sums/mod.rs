//! Sums over the rows of a whole recording, kept as they pass and written when it ends, so that a verdict seldom reads
//! the rows. A table of sums is whole or it is not there: what would take too much memory is given up.

mod calls;
mod counts;
mod flights;
mod flushes;
mod groups;
mod intervals;
mod jumps;
mod kinds;
mod requests;
mod run;
mod spans;
mod syncs;
mod values;
mod waits;

use crate::error::Result;
use crate::recording::Recording;
use crate::rows;
use flights::FlightSums;
use flushes::Flushes;
use groups::{Groups, Summed};
use intervals::Intervals;
use jumps::Jumps;
use kinds::Known;
use run::RunSums;
use syncs::Syncs;
use values::ValueSums;

type SumsOf<S> = Groups<<S as Summed>::Key, S>;

/// What was summed of each table.
#[derive(Debug, Default)]
pub struct Sums {
    call_kinds: Known<kinds::Call>,
    wait_kinds: Known<kinds::Wait>,
    calls: SumsOf<rows::CallSums>,
    syncs: Syncs,
    waits: SumsOf<rows::WaitSums>,
    intervals: Intervals,
    requests: SumsOf<rows::RequestSums>,
    flights: FlightSums,
    flushes: Flushes,
    jumps: Jumps,
    run: RunSums,
    values: ValueSums,
}

/// The rows of the tables of sums that end a recording.
#[derive(Debug, Default)]
pub struct SumRows {
    calls: Vec<rows::CallSums>,
    syncs: Vec<rows::SyncSums>,
    waits: Vec<rows::WaitSums>,
    intervals: Vec<rows::IntervalWaits>,
    requests: Vec<rows::RequestSums>,
    flights: Vec<rows::FlightSums>,
    flushes: Vec<rows::FlushSums>,
    flushing: Vec<rows::FlushingSums>,
    jumps: Vec<rows::JumpSums>,
    seconds: Vec<rows::SecondSums>,
    others: Vec<rows::OtherSums>,
    sizes: Vec<rows::SizeSums>,
    service: Vec<rows::ServiceSums>,
}

impl Sums {
    #[inline]
    pub fn syscalls(&mut self, row: &rows::Syscalls) {
        let kind = self.call_kinds.get(&row.name);
        let writes = matches!(kind, kinds::Call::Writes | kinds::Call::Copies);
        if writes && row.durable.is_none() {
            self.forget_syncs();
        }
        let durable = writes && row.durable == Some(true);
        self.calls.add((row, durable));
        self.syncs.call();
        if durable || kind == kinds::Call::Syncs {
            let until = row.ts_ns.saturating_add(row.dur_ns);
            self.syncs.sync(row.ts_ns, until);
            self.flushes.waits(row.dev, row.ts_ns, until);
        }
    }

    /// An operation that makes data durable is a sync call, too, from its submission to its result; one without a result
    /// is counted alone.
    pub fn async_operations(&mut self, row: &rows::AsyncOperations) {
        let durable = row.kind == "write" && row.durable == Some(true);
        if !durable && row.kind != "sync" {
            return;
        }
        self.syncs.call();
        let until = row.complete_ns.unwrap_or(row.submit_ns);
        self.syncs.sync(row.submit_ns, until);
        if row.complete_ns.is_some() {
            self.flushes.waits(row.dev, row.submit_ns, until);
        }
    }

    pub fn waits(&mut self, row: &rows::Waits) {
        let kind = self.wait_kinds.get(&row.reason);
        if kind.flushes {
            let until = row.ts_ns.saturating_add(row.dur_ns);
            self.flushes.waits(row.dev, row.ts_ns, until);
        }
        if row.dur_ns > 0 {
            self.waits.add(row);
            self.intervals.wait(row);
        }
    }

    pub fn thread_time(&mut self, row: &rows::ThreadTime) {
        self.intervals.interval(row);
    }

    #[inline]
    pub fn block_requests(&mut self, row: &rows::BlockRequests) {
        self.requests.add(row);
        self.flights.add(row);
        self.flushes.request(row);
        self.jumps.request(row);
        self.run.request(row);
        self.values.request(row);
    }

    /// Takes up what waited until the command's start was known, and gives what is known for good; to be called several
    /// times a second.
    pub fn settle(&mut self, start_ns: Option<i64>) -> Vec<rows::IntervalWaits> {
        self.flights.settle(start_ns);
        self.run.settle(start_ns);
        self.intervals.take()
    }

    /// Rows of a table were lost after they were summed: there are no sums of it.
    pub fn forget(&mut self, table: &str) {
        match table {
            "syscalls" => {
                self.calls.give_up();
                self.forget_syncs();
            }
            "async_operations" => self.forget_syncs(),
            "waits" => {
                self.waits.give_up();
                self.intervals.give_up();
                // What waits for flushes is told by calls and by waits.
                self.flushes.give_up();
            }
            "thread_time" | "interval_waits" => self.intervals.give_up(),
            "block_requests" => {
                self.requests.give_up();
                self.flights.give_up();
                self.flushes.give_up();
                self.jumps.give_up();
                self.run.give_up();
                self.values.give_up();
            }
            _ => {}
        }
    }

    /// The sums, of a command that ran from `start_ns` to `end_ns`.
    pub fn rows(mut self, start_ns: Option<i64>, end_ns: Option<i64>) -> SumRows {
        let (flushes, flushing) = self.flushes.rows();
        let (seconds, others) = match (start_ns, end_ns) {
            (Some(start), Some(end)) => self.run.rows(start, end),
            _ => Default::default(),
        };
        let (sizes, service) = self.values.rows();
        SumRows {
            calls: self.calls.rows(),
            syncs: self.syncs.rows(),
            // Of the intervals some may be written already: that these are here says that all are.
            waits: match self.intervals.has_given_up() {
                false => self.waits.rows(),
                true => Vec::new(),
            },
            intervals: self.intervals.take(),
            requests: self.requests.rows(),
            flights: match (start_ns, end_ns) {
                (Some(start), Some(end)) => self.flights.rows(start, end),
                _ => Vec::new(),
            },
            flushes,
            flushing,
            jumps: self.jumps.rows(),
            seconds,
            others,
            sizes,
            service,
        }
    }

    /// Which writes are durable is not known, and so not when the command waits for that.
    fn forget_syncs(&mut self) {
        self.syncs.give_up();
        self.flushes.give_up();
    }
}

impl SumRows {
    pub(crate) fn push(self, recording: &mut Recording) -> Result<()> {
        fn all<R: rows::Row>(rows: Vec<R>, recording: &mut Recording) -> Result<()> {
            rows.into_iter().try_for_each(|row| recording.push(row))
        }
        all(self.calls, recording)?;
        all(self.syncs, recording)?;
        all(self.waits, recording)?;
        all(self.intervals, recording)?;
        all(self.requests, recording)?;
        all(self.flights, recording)?;
        all(self.flushes, recording)?;
        all(self.flushing, recording)?;
        all(self.jumps, recording)?;
        all(self.seconds, recording)?;
        all(self.others, recording)?;
        all(self.sizes, recording)?;
        all(self.service, recording)
    }
}
