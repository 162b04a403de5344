//! /proc/PID/io: what a process read and wrote (proc_pid_io(5)). The recording keeps the last reading of
//! each process, so readings are held back until it has ended.
//!
//! Of a process that runs exec the kernel shows this file when that is done, which a filesystem may keep it from for ever (it closes
//! files meanwhile): a thread reads, and who keeps it waiting is left to it. A signal that kills this process ends that thread, too.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{channel, Receiver, RecvTimeoutError, Sender, TryRecvError};
use std::time::Duration;

use crate::error::Result;
use iowhy_store::rows;

use crate::proc_file::{ProcFile, Text};
use crate::Roots;

/// Open files of processes; more than this many are opened anew for each reading.
const KEPT_OPEN: usize = 256;
/// How long one process is waited for.
const PATIENCE: Duration = Duration::from_secs(1);

/// The last reading of every process that was asked for.
#[derive(Debug)]
pub struct ProcessIo {
    proc: PathBuf,
    reader: Option<Reader>,
    /// Processes that kept a reader waiting, and that reader.
    held: HashMap<i64, Reader>,
    last: HashMap<i64, rows::ProcessIo>,
}

/// The thread that reads.
#[derive(Debug)]
struct Reader {
    ask: Sender<Asked>,
    said: Receiver<Result<Option<rows::ProcessIo>>>,
}

#[derive(Debug)]
enum Asked {
    Read { ts_ns: i64, tgid: i64 },
    Forget { tgid: i64 },
}

impl Reader {
    fn start(proc: PathBuf) -> std::io::Result<Reader> {
        let (ask, asked) = channel();
        let (says, said) = channel();
        std::thread::Builder::new()
            .name("iowhy-proc-io".into())
            .spawn(move || {
                let mut open = HashMap::new();
                for one in asked {
                    let answer = match one {
                        Asked::Read { ts_ns, tgid } => read(&proc, &mut open, ts_ns, tgid),
                        Asked::Forget { tgid } => {
                            open.remove(&tgid);
                            continue;
                        }
                    };
                    if says.send(answer).is_err() {
                        return;
                    }
                }
            })?;
        Ok(Reader { ask, said })
    }
}

/// None: it has ended, or may not be read.
fn read(
    proc: &Path,
    open: &mut HashMap<i64, ProcFile>,
    ts_ns: i64,
    tgid: i64,
) -> Result<Option<rows::ProcessIo>> {
    if !open.contains_key(&tgid) {
        let Ok(file) = ProcFile::open(proc.join(tgid.to_string()).join("io")) else {
            return Ok(None);
        };
        if open.len() >= KEPT_OPEN {
            open.clear();
        }
        open.insert(tgid, file);
    }
    let Some(file) = open.get_mut(&tgid) else {
        return Ok(None);
    };
    match file.read() {
        Ok(text) => parse(text, ts_ns, tgid).map(Some),
        Err(_) => {
            open.remove(&tgid);
            Ok(None)
        }
    }
}

impl ProcessIo {
    /// Fails, with the reason, where this process cannot read even its own.
    pub fn new(roots: &Roots) -> Result<ProcessIo> {
        let mut own = ProcFile::open(roots.proc.join("self/io"))?;
        parse(own.read()?, 0, 0)?;
        Ok(ProcessIo {
            proc: roots.proc.clone(),
            reader: None,
            held: HashMap::new(),
            last: HashMap::new(),
        })
    }

    /// Reads each process again. Those that have ended, or that we may not read, keep their last reading;
    /// a zombie can still be read, so that calling this when a process exits gets its final numbers.
    pub fn sample(&mut self, ts_ns: i64, tgids: impl IntoIterator<Item = i64>) -> Result<()> {
        self.answers();
        for tgid in tgids {
            if self.held.contains_key(&tgid) {
                continue;
            }
            if self.reader.is_none() {
                // Where no thread can be had, readings stand as they are.
                self.reader = Reader::start(self.proc.clone()).ok();
            }
            let Some(reader) = &self.reader else {
                return Ok(());
            };
            if reader.ask.send(Asked::Read { ts_ns, tgid }).is_err() {
                self.reader = None;
                continue;
            }
            match reader.said.recv_timeout(PATIENCE) {
                Ok(answer) => self.keep(answer?),
                Err(RecvTimeoutError::Timeout) => {
                    let reader = self.reader.take();
                    self.held.extend(reader.map(|reader| (tgid, reader)));
                }
                Err(RecvTimeoutError::Disconnected) => self.reader = None,
            }
        }
        Ok(())
    }

    fn keep(&mut self, row: Option<rows::ProcessIo>) {
        self.last.extend(row.map(|row| (row.tgid, row)));
    }

    /// Takes the answers that came late.
    fn answers(&mut self) {
        let mut late = Vec::new();
        self.held.retain(|_, reader| match reader.said.try_recv() {
            Err(TryRecvError::Empty) => true,
            answer => {
                late.extend(answer.ok().and_then(Result::ok).flatten());
                false
            }
        });
        late.into_iter().for_each(|row| self.keep(Some(row)));
    }

    /// The last reading of a process that has ended, which is then forgotten.
    pub fn take(&mut self, tgid: i64) -> Option<rows::ProcessIo> {
        self.held.remove(&tgid);
        if let Some(reader) = &self.reader {
            let _ = reader.ask.send(Asked::Forget { tgid });
        }
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
