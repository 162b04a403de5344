//! /proc/PID/io: what a process read and wrote (proc_pid_io(5)). The recording keeps the last reading of
//! each process, so readings are held back until it has ended.

use std::collections::HashMap;
use std::path::PathBuf;

use crate::error::Result;
use iowhy_store::rows;

use crate::proc_file::{ProcFile, Text};
use crate::Roots;

/// Open files of processes; more than this many are opened anew for each reading.
const KEPT_OPEN: usize = 256;

/// The last reading of every process that was asked for.
#[derive(Debug)]
pub struct ProcessIo {
    proc: PathBuf,
    open: HashMap<i64, ProcFile>,
    last: HashMap<i64, rows::ProcessIo>,
}

impl ProcessIo {
    /// Fails, with the reason, where this process cannot read even its own.
    pub fn new(roots: &Roots) -> Result<ProcessIo> {
        let mut own = ProcFile::open(roots.proc.join("self/io"))?;
        parse(own.read()?, 0, 0)?;
        Ok(ProcessIo {
            proc: roots.proc.clone(),
            open: HashMap::new(),
            last: HashMap::new(),
        })
    }

    /// Reads each process again. Those that have ended, or that we may not read, keep their last reading;
    /// a zombie can still be read, so that calling this when a process exits gets its final numbers.
    pub fn sample(&mut self, ts_ns: i64, tgids: impl IntoIterator<Item = i64>) -> Result<()> {
        for tgid in tgids {
            if !self.open.contains_key(&tgid) {
                let path = self.proc.join(tgid.to_string()).join("io");
                let Ok(file) = ProcFile::open(path) else {
                    continue;
                };
                if self.open.len() >= KEPT_OPEN {
                    self.open.clear();
                }
                self.open.insert(tgid, file);
            }
            let Some(file) = self.open.get_mut(&tgid) else {
                continue;
            };
            match file.read() {
                Ok(text) => {
                    let row = parse(text, ts_ns, tgid)?;
                    self.last.insert(tgid, row);
                }
                Err(_) => {
                    self.open.remove(&tgid);
                }
            }
        }
        Ok(())
    }

    /// The last reading of a process that has ended, which is then forgotten.
    pub fn take(&mut self, tgid: i64) -> Option<rows::ProcessIo> {
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
