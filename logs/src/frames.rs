//! What is written: frames of rows, of strings, of rejected lines, and a summary in JSON.

use std::collections::HashMap;
use std::io::{self, Write};

/// A number that is not known.
pub const UNKNOWN: i64 = i64::MIN;
/// Rows of a frame.
const ROWS: usize = 1 << 16;
const ROWS_BYTES: usize = 4 << 20;
/// Distinct strings that are kept: more are files of a log that wants to fill the memory.
const STRINGS: usize = 4_000_000;
const REJECTS: u64 = 1000;

/// An I/O call. Written as five i64, then tid and fd (i32), name and path (u32: string, 0 is none).
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    pub ts_ns: i64,
    pub dur_ns: i64,
    pub ret: i64,
    pub offset: i64,
    pub bytes: i64,
    pub tid: i32,
    pub fd: i32,
    pub name: u32,
    pub path: u32,
}

#[derive(Default)]
struct Total {
    calls: i64,
    errors: i64,
    ns: i64,
    longest: i64,
    /// Of it on a CPU, as far as it is known of all calls.
    cpu_ns: Option<i64>,
}

/// A kind's rows that are waiting to be written; each kind has rows of one length.
struct Rows {
    kind: u8,
    bytes: Vec<u8>,
}

pub struct Frames<W: Write> {
    out: W,
    calls: Vec<u8>,
    totals: HashMap<(i64, i32, u32), Total>,
    ids: HashMap<Vec<u8>, u32>,
    strings: Vec<u8>,
    rows: Vec<Rows>,
    pub rejected: u64,
    pub full: bool,
}

impl<W: Write> Frames<W> {
    pub fn new(out: W) -> Self {
        Self {
            out,
            calls: Vec::with_capacity(ROWS * 56),
            totals: HashMap::new(),
            ids: HashMap::new(),
            strings: Vec::new(),
            rows: Vec::new(),
            rejected: 0,
            full: false,
        }
    }

    /// The id of a string, 0 when there are too many.
    pub fn string(&mut self, text: &[u8]) -> u32 {
        if let Some(&id) = self.ids.get(text) {
            return id;
        }
        if self.ids.len() >= STRINGS {
            self.full = true;
            return 0;
        }
        let id = self.ids.len() as u32 + 1;
        self.ids.insert(text.to_vec(), id);
        self.strings.extend((text.len() as u32).to_le_bytes());
        self.strings.extend(text);
        id
    }

    pub fn call(&mut self, call: &Call) -> io::Result<()> {
        for number in [call.ts_ns, call.dur_ns, call.ret, call.offset, call.bytes] {
            self.calls.extend(number.to_le_bytes());
        }
        self.calls.extend(call.tid.to_le_bytes());
        self.calls.extend(call.fd.to_le_bytes());
        self.calls.extend(call.name.to_le_bytes());
        self.calls.extend(call.path.to_le_bytes());
        if self.calls.len() >= ROWS * 56 {
            self.flush()?;
        }
        Ok(())
    }

    /// Add a call to the totals of its second, thread and name.
    pub fn total(
        &mut self,
        ts_ns: i64,
        tid: i32,
        name: u32,
        dur_ns: i64,
        failed: bool,
        cpu_ns: Option<i64>,
    ) -> io::Result<()> {
        let key = (ts_ns.div_euclid(1_000_000_000), tid, name);
        let total = self.totals.entry(key).or_insert(Total {
            cpu_ns: Some(0),
            ..Total::default()
        });
        total.cpu_ns = total.cpu_ns.zip(cpu_ns).map(|(sum, cpu)| sum + cpu);
        total.calls += 1;
        total.errors += i64::from(failed);
        total.ns = total.ns.saturating_add(dur_ns);
        total.longest = total.longest.max(dur_ns);
        if self.totals.len() >= ROWS {
            self.flush()?;
        }
        Ok(())
    }

    /// A row of numbers, as they stand in it.
    pub fn row(&mut self, kind: u8, numbers: &[i64], small: &[u32]) -> io::Result<()> {
        let at = match self.rows.iter().position(|rows| rows.kind == kind) {
            Some(at) => at,
            None => {
                self.rows.push(Rows {
                    kind,
                    bytes: Vec::new(),
                });
                self.rows.len() - 1
            }
        };
        let bytes = &mut self.rows[at].bytes;
        for number in numbers {
            bytes.extend(number.to_le_bytes());
        }
        for number in small {
            bytes.extend(number.to_le_bytes());
        }
        if bytes.len() >= ROWS_BYTES {
            self.flush()?;
        }
        Ok(())
    }

    /// A line that was not understood; beyond the first ones they are only counted.
    pub fn reject(&mut self, line: u64, text: &[u8]) -> io::Result<()> {
        self.rejected += 1;
        if self.rejected <= REJECTS {
            let mut frame = line.to_le_bytes().to_vec();
            frame.extend(&text[..text.len().min(400)]);
            self.frame(b'R', &frame)?;
        }
        Ok(())
    }

    /// How many bytes of the input are done.
    pub fn progress(&mut self, bytes: u64) -> io::Result<()> {
        self.frame(b'P', &bytes.to_le_bytes())
    }

    /// The last frame.
    pub fn summary(&mut self, json: &[u8]) -> io::Result<()> {
        self.flush()?;
        self.frame(b'E', json)?;
        self.out.flush()
    }

    fn flush(&mut self) -> io::Result<()> {
        // Strings come before what names them.
        let strings = std::mem::take(&mut self.strings);
        if !strings.is_empty() {
            self.frame(b'S', &strings)?;
        }
        let calls = std::mem::take(&mut self.calls);
        if !calls.is_empty() {
            self.frame(b'C', &calls)?;
        }
        self.calls = calls;
        self.calls.clear();
        for at in 0..self.rows.len() {
            let kind = self.rows[at].kind;
            let bytes = std::mem::take(&mut self.rows[at].bytes);
            if !bytes.is_empty() {
                self.frame(kind, &bytes)?;
            }
            self.rows[at].bytes = bytes;
            self.rows[at].bytes.clear();
        }
        let mut rows = Vec::with_capacity(self.totals.len() * 56);
        for ((second, tid, name), total) in self.totals.drain() {
            let cpu_ns = total.cpu_ns.unwrap_or(UNKNOWN);
            for number in [
                second,
                total.calls,
                total.errors,
                total.ns,
                total.longest,
                cpu_ns,
            ] {
                rows.extend(number.to_le_bytes());
            }
            rows.extend(tid.to_le_bytes());
            rows.extend(name.to_le_bytes());
        }
        if !rows.is_empty() {
            self.frame(b'T', &rows)?;
        }
        Ok(())
    }

    fn frame(&mut self, kind: u8, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(&[kind])?;
        self.out.write_all(&(bytes.len() as u32).to_le_bytes())?;
        self.out.write_all(bytes)
    }
}
