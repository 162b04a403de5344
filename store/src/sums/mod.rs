//! Sums over the rows of a whole recording, kept as they pass and written when it ends, so that a verdict seldom reads
//! the rows. A table of sums is whole or it is not there: what would take too much memory is given up.

mod calls;
mod flights;
mod groups;
mod requests;
mod spans;

use crate::error::Result;
use crate::recording::Recording;
use crate::rows;
use calls::CallSums;
use flights::FlightSums;
use requests::RequestSums;

/// What was summed of each table.
#[derive(Debug, Default)]
pub struct Sums {
    calls: CallSums,
    requests: RequestSums,
    flights: FlightSums,
}

/// The rows of the tables of sums.
#[derive(Debug, Default)]
pub struct SumRows {
    calls: Vec<rows::CallSums>,
    requests: Vec<rows::RequestSums>,
    flights: Vec<rows::FlightSums>,
}

impl Sums {
    #[inline]
    pub fn syscalls(&mut self, row: &rows::Syscalls) {
        self.calls.add(row);
    }

    #[inline]
    pub fn block_requests(&mut self, row: &rows::BlockRequests) {
        self.requests.add(row);
        self.flights.add(row);
    }

    /// Takes up what waited until the command's start was known; to be called several times a second.
    pub fn settle(&mut self, start_ns: Option<i64>) {
        self.flights.settle(start_ns);
    }

    /// Rows of a table were lost after they were summed: there are no sums of it.
    pub fn forget(&mut self, table: &str) {
        match table {
            "syscalls" => self.calls.give_up(),
            "block_requests" => {
                self.requests.give_up();
                self.flights.give_up();
            }
            _ => {}
        }
    }

    /// The sums, of a command that ran from `start_ns` to `end_ns`.
    pub fn rows(self, start_ns: Option<i64>, end_ns: Option<i64>) -> SumRows {
        SumRows {
            calls: self.calls.rows(),
            requests: self.requests.rows(),
            flights: match (start_ns, end_ns) {
                (Some(start), Some(end)) => self.flights.rows(start, end),
                _ => Vec::new(),
            },
        }
    }
}

impl SumRows {
    pub(crate) fn push(self, recording: &mut Recording) -> Result<()> {
        self.calls.into_iter().try_for_each(|r| recording.push(r))?;
        self.requests
            .into_iter()
            .try_for_each(|r| recording.push(r))?;
        self.flights.into_iter().try_for_each(|r| recording.push(r))
    }
}
