//! What every timing model of a disk offers. A model owns no clock: it is given the time, so tests run
//! it on a virtual one.

use serde::Serialize;

/// Name of a request, chosen by who submits it; unique among the requests in flight.
pub type Id = u64;

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Bring bytes from the medium.
    Read,
    /// Take bytes; a volatile cache may hold them.
    Write,
    /// Bring everything that was written before onto the medium.
    Flush,
}

/// One request as the disk receives it.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// Its name.
    pub id: Id,
    /// What it asks for.
    pub kind: Kind,
    /// First byte on the disk (0 for a flush).
    pub offset: u64,
    /// Length in bytes (0 for a flush).
    pub bytes: u64,
}

/// A request that is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    /// Which one.
    pub id: Id,
    /// When the disk was done with it, on the clock of the submitter.
    pub at_ns: u64,
}

/// What the mechanism did, as opposed to what it was asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Mechanics {
    /// Accesses of the medium.
    pub accesses: u64,
    /// Accesses that did not start where the one before ended.
    pub seeks: u64,
    /// Reads that the disk's own buffers answered.
    pub buffer_hits: u64,
    /// Time in which the medium was busy.
    pub busy_ns: u64,
}

/// The timing of one disk. Times given must never go back.
pub trait Device: Send {
    /// Hands a request over at `now_ns`.
    fn submit(&mut self, now_ns: u64, request: Request);

    /// When the next thing happens by itself; `None` while nothing is under way.
    fn next_ns(&self) -> Option<u64>;

    /// Plays everything up to and including `now_ns` and appends what got done, in order of time.
    fn advance(&mut self, now_ns: u64, done: &mut Vec<Done>);

    /// What the mechanism did so far.
    fn mechanics(&self) -> Mechanics;

    /// Whether a request ends in an error, in the time that it takes.
    fn fails(&self, _request: &Request) -> bool {
        false
    }

    /// Answers nobody for a while; a disk without faults always answers.
    fn stall(&mut self, _from_ns: u64, _length_ns: u64) {}
}
