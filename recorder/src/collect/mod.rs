//! From the programs' records to the rows of a recording.

mod containers;
mod end;
mod hanging;
mod named_stacks;
mod parts;
mod places;
mod rings;
mod stacks;
mod statement_text;
mod statements;
mod thread;
mod threads;
mod totals;
mod waits;

use std::borrow::Cow;
use std::collections::HashSet;
use std::fs;

use iowhy_readings::names::escaped;
use iowhy_readings::reach::Reach;
use iowhy_readings::{host, Reading, Roots};
use iowhy_store::Result;
use iowhy_store::{rows, Recording};

use crate::cache::{Cache, Known};
use crate::calls;
use crate::event::{self, layout, CacheCounts, CacheKey, Call, Sample};
use crate::files::{self, Files};
use crate::identity::{identified, Identified, Identities};
use crate::kernel::{Drained, Lost};
use crate::rows::thread::Kept;
use crate::rows::{call, convert, lock_wait, operation, request, TABLES};
pub use containers::Seen;
use parts::Parts;
use places::Places;
use rings::Rings;
use stacks::Stacks;
use statements::Statements;
use threads::Threads;
use totals::Totals;
use waits::Waits;

pub use stacks::{names_file, NameFunctions};
pub use {threads::Ran, waits::ReadStack};

/// Processes outside the command that are named.
const NEIGHBOURS_MOST: usize = 10_000;

/// Tables of the kinds of records that [`convert`] does not know, which lack a row where one is lost.
const STATEFUL: [(u8, &str); 12] = [
    (layout::EVENT_CALL, "syscalls"),
    (layout::EVENT_CALLS, "syscalls"),
    (layout::EVENT_WAIT, "waits"),
    (layout::EVENT_REQUEST, "block_requests"),
    (layout::EVENT_OPERATION, "async_operations"),
    (layout::EVENT_FILE, "files"),
    (layout::EVENT_THREAD, "threads"),
    (layout::EVENT_EXIT, "threads"),
    (layout::EVENT_STATEMENT, "statement_calls"),
    (layout::EVENT_USER_STACK, "stack_samples"),
    (layout::EVENT_USER_WAIT, "stack_samples"),
    (layout::EVENT_CODE, "modules"),
];

/// Takes records and makes rows of them.
pub struct Collector {
    recording: Recording,
    threads: Threads,
    totals: Totals,
    waits: Waits,
    rings: Rings,
    stacks: Stacks,
    /// None: they are not asked for.
    statements: Option<Statements>,
    /// Processes outside the command that were seen.
    neighbours: HashSet<u32>,
    containers: Seen,
    interval_start: u64,
    /// It is the first one.
    begins: bool,
    cache: Cache,
    files: Files,
    places: Places,
    /// Asks filesystems, which may not answer.
    reach: Reach,
    identities: Identities,
    /// What drivers give back is seen.
    sees_requeues: bool,
    /// What had been lost when it was last added to the manifest.
    lost: Lost,
    failure: Option<iowhy_store::Error>,
}

impl Collector {
    pub fn new(recording: Recording, start_ns: u64, containers: Seen) -> Collector {
        Collector {
            recording,
            threads: Threads::new(start_ns),
            totals: Totals::default(),
            waits: Waits::default(),
            rings: Rings::default(),
            stacks: Stacks::default(),
            statements: None,
            neighbours: HashSet::new(),
            containers,
            interval_start: start_ns,
            begins: true,
            cache: Cache::new(host::page_bytes() as u64),
            files: Files::new(),
            places: Places::new(Roots::default()),
            reach: Reach::new(&Roots::default()),
            identities: Identities::default(),
            sees_requeues: false,
            lost: Lost::default(),
            failure: None,
        }
    }

    pub fn recording(&mut self) -> &mut Recording {
        &mut self.recording
    }

    /// The first interval begins here.
    pub fn begin(&mut self, now_ns: u64) {
        self.interval_start = now_ns;
        self.threads.begin(now_ns);
    }

    /// What is known of the page cache here, which sums the clocks of threads have, and whether it is seen that requests are
    /// issued again.
    pub fn set_known(&mut self, known: Known, kept: Kept, sees_requeues: bool) {
        self.sees_requeues = sees_requeues;
        self.cache.known = known;
        self.threads.kept = kept;
    }

    /// The process whose end [`Collector::main_ended`] is about.
    pub fn set_main(&mut self, tgid: u32) {
        self.threads.set_main(tgid);
    }

    pub fn main_ended(&self) -> bool {
        self.threads.main_ended()
    }

    /// Processes in scope that have not ended.
    pub fn alive(&self) -> Vec<i64> {
        self.threads.processes()
    }

    /// What ran in scope since this was last asked.
    pub fn take_ran(&mut self) -> Ran {
        self.threads.take_ran()
    }

    /// The first failure to write, which ends the recording.
    pub fn failed(&mut self) -> Result<()> {
        self.failure.take().map_or(Ok(()), Err)
    }

    /// One record of the ring. `stack` reads a kernel stack by its id.
    pub fn event(&mut self, bytes: &[u8], stack: ReadStack<'_>) {
        let done = self.write(bytes, stack);
        self.note(done.unwrap_or(Ok(())));
    }

    /// One record of the ring of user stacks. `functions` names those of the kernel at addresses.
    pub fn stack_event(&mut self, bytes: &[u8], functions: NameFunctions<'_>) {
        let (files, identities) = (&self.files, &mut self.identities);
        let done = self
            .stacks
            .event(bytes, files, identities, functions, &mut self.recording);
        self.note(done.unwrap_or(Ok(())));
    }

    /// Writes the rows of a record; None when it is of no known kind, or cut off.
    fn write(&mut self, bytes: &[u8], stack: ReadStack<'_>) -> Option<Result<()>> {
        let header: event::Header = event::read(bytes)?;
        let recording = &mut self.recording;
        let identities = &mut self.identities;
        match header.kind {
            layout::EVENT_CALLS => Parts::of(bytes).map(|mut calls| {
                calls.try_for_each(|mut e| {
                    e.identify(&mut self.identities);
                    self.call(&e)
                })
            }),
            layout::EVENT_WAIT => {
                identified(bytes, identities).map(|e| self.waits.add(&e, stack, recording))
            }
            layout::EVENT_REQUEST => identified(bytes, identities).map(|e| self.request(&e)),
            layout::EVENT_OPERATION => identified(bytes, identities).map(|e| self.operation(&e)),
            layout::EVENT_LOCK_WAIT => identified(bytes, identities).map(|e| self.lock_wait(&e)),
            layout::EVENT_STATEMENT => self.statements.as_mut()?.add(bytes, recording),
            layout::EVENT_FILE => {
                if let Some(statements) = &mut self.statements {
                    statements.met.extend(files::library(bytes));
                }
                if self.files.seen(bytes, identities, host::now_ns() as u64) {
                    recording.lost("files", 1);
                }
                Some(Ok(()))
            }
            layout::EVENT_THREAD => {
                if let (Some(statements), true) = (
                    &mut self.statements,
                    header.flags & layout::THREAD_RAN_EXEC != 0,
                ) {
                    statements
                        .met
                        .push(format!("/proc/{}/exe", header.tid).into());
                }
                event::read(bytes).map(|e| self.threads.begins(&e, &mut self.containers, recording))
            }
            layout::EVENT_EXIT => {
                event::read(bytes).map(|e| self.threads.exits(&e, &mut self.containers, recording))
            }
            kind => convert(kind, bytes, identities, recording),
        }
    }

    fn request(&mut self, e: &event::Request) -> Result<()> {
        if e.scope == layout::SCOPE_OTHER {
            self.neighbour(e.tgid, || running(e.tgid))?;
        }
        let ring = self.rings.of(e.tgid, e.ring);
        self.recording
            .push(request::row(e, ring, self.sees_requeues))
    }

    fn lock_wait(&mut self, e: &layout::LockWait) -> Result<()> {
        if e.holder != 0 && !self.threads.has(e.holder) {
            self.neighbour(e.holder, || running(e.holder))?;
        }
        self.recording.push(lock_wait::row(e))
    }

    fn operation(&mut self, e: &event::Operation) -> Result<()> {
        let row = operation::row(e, self.rings.of(e.tgid, e.ring));
        if let (Some(dev), Some(ino), Some(bytes)) = (row.dev, row.ino, row.moved_bytes) {
            self.files.add_bytes((dev as u32, ino as u64), bytes as u64);
        }
        self.recording.push(row)
    }

    /// Names a process outside the command, the first time that it is seen.
    fn neighbour(&mut self, tgid: u32, name: impl FnOnce() -> Option<String>) -> Result<()> {
        if self.neighbours.len() >= NEIGHBOURS_MOST || !self.neighbours.insert(tgid) {
            return Ok(());
        }
        match name() {
            None => Ok(()),
            Some(comm) => {
                let container = self.containers.of_process(tgid, &mut self.recording)?;
                let title = self.threads.titles.now(tgid.into());
                self.recording.push(rows::Neighbours {
                    tgid: tgid.into(),
                    comm: Cow::Owned(comm),
                    container,
                    title: title.map(Cow::Owned),
                })
            }
        }
    }

    /// Counts of the page cache by process and file, or by one of others and filesystem.
    fn cached(
        &mut self,
        mut key: CacheKey,
        counts: &CacheCounts,
        (start, end): (u64, u64),
    ) -> Result<()> {
        if counts.comm[0] != 0 {
            self.neighbour(key.tgid, || Some(event::comm(&counts.comm)))?;
        }
        if key.file.ino == 0 {
            return self.recording.push(rows::DirtiedByOthers {
                ts_ns: start as i64,
                interval_ns: (end - start) as i64,
                tgid: key.tgid.into(),
                dev: key.file.dev.into(),
                pages: counts.dirtied as i64,
            });
        }
        key.file.identify(&mut self.identities);
        let moved = self.cache.moved_bytes(counts);
        if moved > 0 {
            self.files.add_bytes((key.file.dev, key.file.ino), moved);
        }
        self.cache.add(key, counts);
        Ok(())
    }

    fn call(&mut self, e: &Call) -> Result<()> {
        let ring = self.rings.of_call(e);
        if e.header.flags & layout::CALL_UNRETURNED != 0 {
            return self.recording.push(call::row(e, false, ring));
        }
        if e.header.flags & layout::CALL_LOOKED_UP != 0 {
            self.cache.looked_up(e);
        }
        if e.ret > 0
            && e.header.flags & layout::CALL_HAS_FILE != 0
            && calls::moves_bytes(e.header.nr)
        {
            self.files.add_bytes((e.dev, e.ino), e.ret as u64);
        }
        self.totals.add(e);
        let row = call::row(e, true, ring);
        self.recording.push(row)
    }

    /// One row of a sampler or of the watcher of /proc.
    pub fn reading(&mut self, reading: Reading) {
        if let Reading::Disk(row) = &reading {
            self.places.seen(row, &mut self.reach);
        }
        let done = reading.push(&mut self.recording);
        self.note(done);
    }

    fn note(&mut self, done: Result<()>) {
        if let Err(error) = done {
            self.failure.get_or_insert(error);
        }
    }

    /// The clocks of all threads, ten times a second, and what was drained; `now_ns` ends the interval.
    pub fn interval(
        &mut self,
        samples: &[Sample],
        drained: Drained,
        lost: Lost,
        now_ns: u64,
    ) -> Result<()> {
        let interval = (self.interval_start, now_ns);
        for (key, counts) in drained.cache {
            self.cached(key, &counts, interval)?;
        }
        if std::mem::take(&mut self.begins) {
            self.threads.look_for_held(samples, &mut self.reach);
        }
        let recording = &mut self.recording;
        for sample in samples {
            self.threads.clock(&sample.clock, false, recording)?;
        }
        self.threads.end_missing(&mut self.containers, recording)?;
        self.threads.look_for_titles(now_ns);
        for (key, total) in drained.totals.into_iter().chain(self.totals.take()) {
            recording.push(call::total(key, &total, interval))?;
        }
        self.cache.rows(interval, &mut |row| recording.push(row))?;
        self.interval_start = now_ns;
        self.losses(lost);
        self.files.tick(&mut self.recording, now_ns)?;
        self.recording.tick(now_ns as i64)
    }

    fn losses(&mut self, lost: Lost) {
        for &(kind, table) in STATEFUL.iter().chain(TABLES) {
            let kind = usize::from(kind);
            let more = lost.events[kind] - self.lost.events[kind];
            self.recording.lost(table, more);
        }
        for (table, now, before) in [
            ("page_cache", lost.cache, self.lost.cache),
            ("syscall_totals", lost.totals, self.lost.totals),
            ("threads", lost.threads, self.lost.threads),
        ] {
            self.recording.lost(table, now - before);
        }
        self.lost = lost;
    }
}

/// The name of a process that runs; one that has ended meanwhile stays a number.
fn running(tgid: u32) -> Option<String> {
    let comm = fs::read(format!("/proc/{tgid}/comm")).ok()?;
    Some(escaped(comm.trim_ascii_end()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_record_has_a_table_for_its_losses() {
        let kinds: HashSet<u8> = STATEFUL
            .iter()
            .chain(TABLES)
            .map(|(kind, _)| *kind)
            .collect();
        assert_eq!(kinds.len() + 1, event::KINDS);
        assert_eq!(kinds.len(), STATEFUL.len() + TABLES.len());
    }
}
