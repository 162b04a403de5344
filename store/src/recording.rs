//! A recording while it is made.

use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{channel, Receiver, Sender};
use std::sync::Arc;
use std::thread::JoinHandle;

use crate::batch::Batch;
use crate::error::{Error, Result};
use crate::folder::{Folder, Owner};
use crate::manifest::Manifest;
use crate::rows::{Row, TABLES};
use crate::sums::Sums;
use crate::writer::{queued_bytes, Order, Shared, Writer, Written};

/// When files are closed and how much may wait.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Rows of a file.
    pub rows_per_file: usize,
    /// Rows up to which a file is written anew with the next ones: many small files take longer to open than to read.
    /// Each writing costs what is in the file once more, so it ends here.
    pub small_file_rows: usize,
    /// Shortest time between two closings of all tables.
    pub close_every_ns: i64,
    /// The interval grows to a twentieth of the recording's age, up to this: a killed recorder loses at
    /// most 5 %, and an hour does not become ten thousand files.
    pub close_at_most_ns: i64,
    /// While fewer rows than these wait, of all tables together, it grows to half of the age: to close the files of a
    /// quiet beginning costs more than all else that is done there (docs/benchmarks.md). What a killed recorder loses is
    /// less than these rows, then.
    pub few_rows: usize,
    /// Up to this: each closing writes the small files anew.
    pub close_few_at_most_ns: i64,
    /// Memory of rows that wait for the writer; what comes on top is lost and counted.
    pub queue_bytes: usize,
}

impl Limits {
    /// For somebody who reads along: all tables are closed this often, however long it takes.
    pub fn read_along(every_ns: i64) -> Limits {
        Limits {
            close_every_ns: every_ns,
            close_at_most_ns: every_ns,
            close_few_at_most_ns: every_ns,
            few_rows: 0,
            ..Limits::default()
        }
    }
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            rows_per_file: 128 * 1024,
            small_file_rows: 16 * 1024,
            close_every_ns: 3_000_000_000,
            close_at_most_ns: 60_000_000_000,
            few_rows: 8 * 1024,
            close_few_at_most_ns: 120_000_000_000,
            queue_bytes: 512 << 20,
        }
    }
}

/// Takes rows and writes them to `DIR/TABLE/000001.parquet`, … and `DIR/manifest.json`. No call but
/// [`Recording::create`] and [`Recording::finish`] waits for the disk. After a failure to write, every
/// [`push`](Recording::push) and [`tick`](Recording::tick) returns it; what was closed stays readable.
#[derive(Debug)]
pub struct Recording {
    folder: Arc<Folder>,
    limits: Limits,
    manifest: Manifest,
    batches: Vec<Batch>,
    /// Emptied batches, to be filled again: their memory is already there.
    ready: Vec<Option<Batch>>,
    lost: Vec<u64>,
    sums: Sums,
    first_tick_ns: Option<i64>,
    closed_ns: i64,
    shared: Arc<Shared>,
    orders: Option<Sender<Order>>,
    spares: Receiver<(usize, Batch)>,
    thread: Option<JoinHandle<Written>>,
}

impl Recording {
    /// Makes the directory (or takes an empty one) and writes the first manifest. Nobody else may read it.
    ///
    /// Fails when there is something in it: a recording is never overwritten.
    pub fn create(dir: &Path, manifest: Manifest) -> Result<Recording> {
        Recording::create_with(dir, manifest, Limits::default())
    }

    /// As [`Recording::create`], with other limits.
    pub fn create_with(dir: &Path, manifest: Manifest, limits: Limits) -> Result<Recording> {
        Recording::create_for(dir, manifest, None, limits)
    }

    /// As [`Recording::create_with`], by root for somebody whose it is in the end; None: it stays its maker's.
    pub fn create_for(
        dir: &Path,
        mut manifest: Manifest,
        owner: Option<Owner>,
        limits: Limits,
    ) -> Result<Recording> {
        let folder = Arc::new(Folder::make(dir, owner)?);
        manifest.complete = false;
        let shared = Arc::new(Shared::default());
        let (spare_sender, spares) = channel();
        let start_ns = manifest.command.start_ns.or(manifest.clock.monotonic_ns);
        let mut recording = Recording {
            folder: folder.clone(),
            limits,
            manifest,
            batches: TABLES.iter().map(Batch::new).collect(),
            ready: TABLES.iter().map(|_| None).collect(),
            lost: vec![0; TABLES.len()],
            sums: Sums::default(),
            first_tick_ns: None,
            closed_ns: 0,
            shared: shared.clone(),
            orders: None,
            spares,
            thread: None,
        };
        recording
            .snapshot()
            .write(folder.inside())
            .and_then(|()| {
                let small = limits.small_file_rows;
                Writer::new(folder.clone(), start_ns, small, shared, spare_sender)
            })
            .and_then(|writer| {
                let (orders, received) = channel();
                recording.orders = Some(orders);
                let thread = std::thread::Builder::new().name("iowhy-write".into());
                recording.thread = Some(thread.spawn(move || writer.run(received))?);
                Ok(())
            })
            .map_err(|error| Error::Write {
                path: dir.to_owned(),
                error,
            })?;
        Ok(recording)
    }

    /// Bytes of the files that are closed.
    pub fn written_bytes(&self) -> u64 {
        self.shared.written_bytes.load(Ordering::Relaxed)
    }

    /// Bytes of rows that wait to be written: who makes rows faster than the disk takes them loses some.
    pub fn queued_bytes(&self) -> usize {
        self.shared.queued_bytes.load(Ordering::Relaxed)
    }

    /// Where it lies, whatever becomes of the path that it was made at.
    pub fn place(&self) -> &Path {
        self.folder.inside()
    }

    /// What is known of the recording; written at the next closing of the files. `tables` and `complete`
    /// are filled in by the recording itself.
    pub fn manifest_mut(&mut self) -> &mut Manifest {
        &mut self.manifest
    }

    /// Adds a row. Costs some tens of nanoseconds and never waits.
    #[inline]
    pub fn push<R: Row>(&mut self, row: R) -> Result<()> {
        let batch = &mut self.batches[R::INDEX];
        row.sum(&mut self.sums);
        row.append(&mut batch.columns);
        batch.rows += 1;
        if batch.rows >= self.limits.rows_per_file {
            self.send(R::INDEX);
            self.failure()?;
        } else if self.shared.failed.load(Ordering::Relaxed) {
            self.failure()?;
        }
        Ok(())
    }

    /// Counts `n` rows of `table` that were lost before they got here. A name that is not in the schema
    /// is a mistake of the program and panics.
    pub fn lost(&mut self, table: &str, n: u64) {
        let index = TABLES.iter().position(|t| t.name == table);
        self.lost[index.unwrap_or_else(|| panic!("no table {table} in the schema"))] += n;
    }

    /// Closes the files and rewrites the manifest when it is time for it; `now_ns` is CLOCK_MONOTONIC.
    /// To be called several times a second.
    pub fn tick(&mut self, now_ns: i64) -> Result<()> {
        let settled = self.sums.settle(self.manifest.command.start_ns);
        settled.into_iter().try_for_each(|row| self.push(row))?;
        let first_ns = *self.first_tick_ns.get_or_insert_with(|| {
            self.closed_ns = now_ns;
            now_ns
        });
        let (part, longest) = if self.waits() < self.limits.few_rows {
            (2, self.limits.close_few_at_most_ns)
        } else {
            (20, self.limits.close_at_most_ns)
        };
        let shortest = self.limits.close_every_ns;
        let every = ((now_ns - first_ns) / part).clamp(shortest, longest.max(shortest));
        if now_ns - self.closed_ns >= every {
            self.closed_ns = now_ns;
            (0..TABLES.len()).for_each(|index| self.send(index));
            let manifest = Box::new(self.snapshot());
            if let Some(orders) = &self.orders {
                let _ = orders.send(Order::Manifest(now_ns, manifest));
            }
        }
        self.failure()
    }

    /// Rows that were not handed to the writer yet.
    fn waits(&self) -> usize {
        self.batches.iter().map(|batch| batch.rows).sum()
    }

    /// Writes what is left and the last manifest, with `complete` true unless writing failed.
    pub fn finish(mut self) -> Result<()> {
        (0..TABLES.len()).for_each(|index| self.send(index));
        let command = &self.manifest.command;
        let sums = std::mem::take(&mut self.sums).rows(command.start_ns, command.end_ns);
        // What fails is told below.
        let _ = sums.push(&mut self);
        (0..TABLES.len()).for_each(|index| self.send(index));
        let written = self.join();
        let failure = self.failure();
        let mut manifest = self.snapshot();
        for (index, table) in TABLES.iter().enumerate() {
            let kept = manifest.tables.entry(table.name.to_owned()).or_default();
            kept.kept = written.kept[index];
            kept.lost += written.dropped[index];
        }
        if let Err(error) = &failure {
            manifest.notes.push(error.to_string());
        }
        manifest.complete = failure.is_ok();
        let last = manifest
            .write(self.folder.inside())
            .map_err(|error| Error::Write {
                path: self.folder.shown().join("manifest.json"),
                error,
            });
        failure.and(last)
    }

    /// Hands a table's rows to the writer.
    fn send(&mut self, index: usize) {
        while let Ok((of, emptied)) = self.spares.try_recv() {
            self.ready[of] = Some(emptied);
        }
        if self.batches[index].rows > 0 {
            let next = self.ready[index].take();
            let next = next.unwrap_or_else(|| Batch::new(&TABLES[index]));
            let full = std::mem::replace(&mut self.batches[index], next);
            self.queue(index, full);
        }
    }

    fn queue(&mut self, index: usize, batch: Batch) {
        let bytes = queued_bytes(&batch);
        let rows = batch.rows as u64;
        let waiting = self.shared.queued_bytes.fetch_add(bytes, Ordering::Relaxed);
        let sent = waiting + bytes <= self.limits.queue_bytes
            && self
                .orders
                .as_ref()
                .is_some_and(|o| o.send(Order::Rows(index, batch)).is_ok());
        if !sent {
            self.shared.queued_bytes.fetch_sub(bytes, Ordering::Relaxed);
            self.lost[index] += rows;
            self.sums.forget(TABLES[index].name);
        }
    }

    fn failure(&self) -> Result<()> {
        if !self.shared.failed.load(Ordering::Acquire) {
            return Ok(());
        }
        let text = self
            .shared
            .failure
            .lock()
            .ok()
            .and_then(|failure| failure.clone());
        Err(Error::Stopped(text.unwrap_or_else(|| {
            format!("cannot write {}", self.folder.shown().display())
        })))
    }

    /// The manifest with the losses so far; `kept` is the writer's to fill.
    fn snapshot(&self) -> Manifest {
        let mut manifest = self.manifest.clone();
        for (index, table) in TABLES.iter().enumerate() {
            manifest
                .tables
                .entry(table.name.to_owned())
                .or_default()
                .lost = self.lost[index];
        }
        manifest
    }

    /// Hangs up, waits for the writer and takes its counts.
    fn join(&mut self) -> Written {
        drop(self.orders.take());
        let ended = self.thread.take().and_then(|thread| thread.join().ok());
        ended.unwrap_or_else(|| {
            // Only a panic in the writer leads here.
            self.shared.failed.store(true, Ordering::Release);
            Written {
                kept: vec![0; TABLES.len()],
                dropped: vec![0; TABLES.len()],
            }
        })
    }
}

impl Drop for Recording {
    /// A recording that is dropped stays incomplete, with what the writer had been given.
    fn drop(&mut self) {
        if self.thread.is_some() {
            self.join();
        }
    }
}
