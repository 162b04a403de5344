//! /proc/PID/io: what a process read and wrote (proc_pid_io(5)). The recording keeps the last reading of
//! each process, so readings are held back until it has ended.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::aside::Aside;
use crate::error::Result;
use iowhy_store::rows;

use crate::proc_file::{ProcFile, Text};
use crate::Roots;

/// Open files of processes; those of more than this many are opened for each reading.
const KEPT_OPEN: usize = 256;

/// The last reading of every process that was asked for.
#[derive(Debug)]
pub struct ProcessIo {
    proc: PathBuf,
    aside: Aside<One, One>,
    open: HashMap<i64, ProcFile>,
    last: HashMap<i64, rows::ProcessIo>,
}

/// What is asked of a process, and what was answered.
#[derive(Debug)]
struct One {
    ts_ns: i64,
    tgid: i64,
    path: PathBuf,
    file: Option<ProcFile>,
    /// None: it has ended, or may not be read.
    row: Result<Option<rows::ProcessIo>>,
}

fn read(mut one: One) -> One {
    let opened = one
        .file
        .take()
        .map_or_else(|| ProcFile::open(&one.path), Ok);
    if let Ok(mut file) = opened {
        if let Ok(text) = file.read() {
            one.row = parse(text, one.ts_ns, one.tgid).map(Some);
            one.file = Some(file);
        }
    }
    one
}

impl ProcessIo {
    /// Fails, with the reason, where this process cannot read even its own.
    pub fn new(roots: &Roots) -> Result<ProcessIo> {
        let mut own = ProcFile::open(roots.proc.join("self/io"))?;
        parse(own.read()?, 0, 0)?;
        Ok(ProcessIo {
            proc: roots.proc.clone(),
            aside: Aside::new(read),
            open: HashMap::new(),
            last: HashMap::new(),
        })
    }

    /// Reads each process again. Those that have ended, or that we may not read, keep their last reading;
    /// a zombie can still be read, so that calling this when a process exits gets its final numbers.
    pub fn sample(&mut self, ts_ns: i64, tgids: impl IntoIterator<Item = i64>) -> Result<()> {
        let (proc, open) = (&self.proc, &mut self.open);
        let asked = tgids.into_iter().map(|tgid| {
            let one = One {
                ts_ns,
                tgid,
                path: path(proc, tgid),
                file: open.remove(&tgid),
                row: Ok(None),
            };
            (tgid, one)
        });
        for one in self.aside.ask(asked) {
            let kept = one.file.filter(|_| self.open.len() < KEPT_OPEN);
            self.open.extend(kept.map(|file| (one.tgid, file)));
            self.last.extend(one.row?.map(|row| (row.tgid, row)));
        }
        Ok(())
    }

    /// The last reading of a process that has ended, which is then forgotten.
    pub fn take(&mut self, tgid: i64) -> Option<rows::ProcessIo> {
        self.aside.forget(tgid);
        self.open.remove(&tgid);
        self.last.remove(&tgid)
    }

    /// The last readings of all that is left, by process.
    pub fn finish(self) -> Vec<rows::ProcessIo> {
        let mut rows: Vec<_> = self.last.into_values().collect();
        rows.sort_by_key(|row| row.tgid);
        rows
    }
}

fn path(proc: &Path, tgid: i64) -> PathBuf {
    proc.join(tgid.to_string()).join("io")
}

pub(crate) fn parse(text: Text<'_>, ts_ns: i64, tgid: i64) -> Result<rows::ProcessIo> {
    let mut row = rows::ProcessIo {
        ts_ns,
        tgid,
        ..Default::default()
    };
    for line in text.lines() {
        let mut words = line.words();
        let field = match words.next() {
            Some(b"rchar:") => &mut row.read_call_bytes,
            Some(b"wchar:") => &mut row.write_call_bytes,
            Some(b"syscr:") => &mut row.read_calls,
            Some(b"syscw:") => &mut row.write_calls,
            Some(b"read_bytes:") => &mut row.read_bytes,
            Some(b"write_bytes:") => &mut row.written_bytes,
            Some(b"cancelled_write_bytes:") => &mut row.cancelled_bytes,
            _ => continue,
        };
        *field = Some(words.number("a count")?);
    }
    Ok(row)
}
