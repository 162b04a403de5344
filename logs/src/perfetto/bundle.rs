//! The events of an FtraceEventBundle: where each one is, so that it is decoded when its turn comes.

use super::wire::{fields, Malformed, Value};

type Result<T> = std::result::Result<T, Malformed>;

/// A time of the kernel that is later than this is damage (30 years).
const LATEST_NS: i64 = 999_999_999_000_000_000;

/// An event of a bundle, in its packet's bytes.
#[derive(Clone, Debug)]
pub struct Entry {
    pub ts_ns: i64,
    pub cpu: u32,
    pub source: Source,
}

/// Where an event comes from.
#[derive(Clone, Debug)]
pub enum Source {
    /// A message FtraceEvent, from byte to byte.
    Message(u32, u32),
    /// A switch of CompactSched: who left is who came before on that CPU.
    Switch {
        prev_state: i64,
        next: i32,
        next_comm: (u32, u32),
    },
    /// A waking of CompactSched.
    Wake(i32),
}

/// Whether a bundle says that events were lost.
pub fn is_lossy(bundle: &[u8]) -> Result<bool> {
    let mut lossy = false;
    for field in fields(bundle) {
        if let (3, value) = field? {
            lossy = value.number() != 0;
        }
    }
    Ok(lossy)
}

/// Append the events of a bundle, which is a part of `buffer`, in the order in which they stand.
pub fn entries(buffer: &[u8], bundle: &[u8], found: &mut Vec<Entry>) -> Result<()> {
    let mut cpu = 0;
    for field in fields(bundle) {
        if let (1, value) = field? {
            cpu = value.number() as u32;
        }
    }
    for field in fields(bundle) {
        if let (4, value) = field? {
            compact(buffer, value.bytes(), cpu, found)?;
        }
    }
    for field in fields(bundle) {
        if let (2, Value::Bytes(event)) = field? {
            let (start, end) = range(buffer, event);
            push(found, timestamp(event)?, cpu, Source::Message(start, end));
        }
    }
    Ok(())
}

fn push(found: &mut Vec<Entry>, ts_ns: u64, cpu: u32, source: Source) {
    // The upper bit is not of a time.
    let ts_ns = (ts_ns & (i64::MAX as u64)) as i64;
    if ts_ns <= LATEST_NS {
        found.push(Entry { ts_ns, cpu, source });
    }
}

fn timestamp(event: &[u8]) -> Result<u64> {
    let mut found = 0;
    for field in fields(event) {
        if let (1, value) = field? {
            found = value.number();
        }
    }
    Ok(found)
}

/// Where a part of the buffer is in it. Packets are shorter than 4 GiB.
fn range(buffer: &[u8], part: &[u8]) -> (u32, u32) {
    let start = part.as_ptr() as usize - buffer.as_ptr() as usize;
    (start as u32, (start + part.len()) as u32)
}

/// CompactSched: arrays of one CPU; times are differences, names are interned.
fn compact(buffer: &[u8], sched: &[u8], cpu: u32, found: &mut Vec<Entry>) -> Result<()> {
    let mut names: Vec<(u32, u32)> = Vec::new();
    // By the number of the field.
    let mut arrays: [Vec<u64>; 12] = Default::default();
    for field in fields(sched) {
        match field? {
            (5, name) => names.push(range(buffer, bytes_or(name, buffer))),
            (number @ 1..=11, values) => values.extend(&mut arrays[number as usize])?,
            _ => {}
        }
    }
    let [_, times, states, nexts, _, _, comms, wake_times, woken, _, _, wake_comms] = arrays;
    if [states.len(), nexts.len(), comms.len()] == [times.len(); 3] {
        let mut ts_ns = 0u64;
        for (at, gap) in times.iter().enumerate() {
            ts_ns = ts_ns.wrapping_add(*gap);
            let source = Source::Switch {
                prev_state: states[at] as i64,
                next: nexts[at] as i32,
                next_comm: names.get(comms[at] as usize).copied().unwrap_or((0, 0)),
            };
            push(found, ts_ns, cpu, source);
        }
    }
    if [woken.len(), wake_comms.len()] == [wake_times.len(); 2] {
        let mut ts_ns = 0u64;
        for (gap, pid) in wake_times.iter().zip(&woken) {
            ts_ns = ts_ns.wrapping_add(*gap);
            push(found, ts_ns, cpu, Source::Wake(*pid as i32));
        }
    }
    Ok(())
}

/// A field's bytes, or else nothing of the buffer.
fn bytes_or<'a>(value: Value<'a>, buffer: &'a [u8]) -> &'a [u8] {
    match value {
        Value::Bytes(bytes) => bytes,
        _ => &buffer[..0],
    }
}
