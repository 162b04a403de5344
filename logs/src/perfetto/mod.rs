//! Perfetto traces (protobuf), for the ftrace events in them: packets as protos/perfetto/trace of Perfetto's
//! repository has them. Scheduler events, nearly all of a trace, come packed in arrays (CompactSched).

mod bundle;
mod merge;
mod messages;
mod packets;
mod wire;

use std::borrow::Cow;

use ahash::HashMap;
use serde::Serialize;

use crate::error::Result;
use crate::output::Output;
use crate::trace::collector::Collector;
use crate::trace::event::{Detail, Event, Switch};
use bundle::{Entry, Source};
use merge::{in_order, undecodable, Unit};
use messages::{clean, message, state, Scratch};
use packets::{content, inner, unpack, Content, Packets};
use wire::{fields, Malformed};

/// Threads whose process or name is remembered.
const THREADS: usize = 1_000_000;
const COMM_BYTES: usize = 64;
/// How often progress is reported.
const PROGRESS_EVENTS: u64 = 1_000_000;

/// What only these traces know.
#[derive(Serialize)]
struct Own {
    host: Host,
    /// The tracer lost events: the kernel's buffer was full.
    lossy: bool,
}

/// SystemInfo: of the machine that was traced.
#[derive(Default, Serialize)]
struct Host {
    kernel: String,
    machine: String,
    cpus: Option<u64>,
    page_bytes: Option<u64>,
    memory_bytes: Option<u64>,
}

/// What is known of a trace before its events are taken.
#[derive(Default)]
struct Scan {
    packets: u64,
    unpacked_bytes: usize,
    units: Vec<Unit>,
    events: u64,
    processes: HashMap<i32, i32>,
    host: Host,
    lossy: bool,
}

/// Read a trace, which is mapped whole.
pub fn read(whole: &[u8], output: &mut Output) -> Result<()> {
    let mut scan = Scan::default();
    for place in Packets::new(whole) {
        let place = place?;
        scan.packets += 1;
        let number = scan.packets;
        let packet = &whole[place.start..place.end];
        if scan.packet(packet)? {
            let mut unit = Unit {
                first_ns: 0,
                number,
                place,
            };
            // Opened once more when its time has come.
            let mut events = merge::open(whole, &unit)?.left;
            scan.events += events.len() as u64;
            if let Some(first) = events.next() {
                unit.first_ns = first.ts_ns;
                scan.units.push(unit);
            }
        }
    }
    let units = std::mem::take(&mut scan.units);
    let mut reader = Reader::new(output, &mut scan, whole.len());
    in_order(whole, units, |packet, buffer, entry| {
        reader.event(packet, buffer, entry)
    })?;
    let own = Own {
        host: scan.host,
        lossy: scan.lossy,
    };
    reader.collector.finish(scan.packets, own)
}

impl Scan {
    /// Take what is known from a packet; whether it has events.
    fn packet(&mut self, packet: &[u8]) -> Result<bool> {
        let number = self.packets;
        let malformed = |_: Malformed| undecodable(number);
        let Content::Compressed(data) = content(packet).map_err(malformed)? else {
            return self.plain(packet).map_err(malformed);
        };
        let unpacked = unpack(data, self.unpacked_bytes)?;
        self.unpacked_bytes += unpacked.len();
        let mut events = false;
        for packet in inner(&unpacked)? {
            self.packets += 1;
            events |= self.plain(packet).map_err(malformed)?;
        }
        Ok(events)
    }

    /// The same of one that is not compressed; compressed packets inside compressed ones are none.
    fn plain(&mut self, packet: &[u8]) -> std::result::Result<bool, Malformed> {
        match content(packet)? {
            Content::Events(bundle) => {
                self.lossy |= bundle::is_lossy(bundle)?;
                return Ok(true);
            }
            Content::Processes(tree) => self.process_tree(tree)?,
            Content::System(info) => self.host = host(info)?,
            Content::Compressed(_) => return Err(Malformed),
            Content::Other => {}
        }
        Ok(false)
    }

    fn process_tree(&mut self, tree: &[u8]) -> std::result::Result<(), Malformed> {
        for field in fields(tree) {
            let (number, value) = field?;
            // ProcessTree.Process has its number in field 1, Thread its own in 1 and its process's in 3.
            let (mut own, mut process) = (0, 0);
            if matches!(number, 1 | 2) {
                for field in fields(value.bytes()) {
                    match field? {
                        (1, value) => own = value.int32(),
                        (3, value) if number == 2 => process = value.int32(),
                        _ => {}
                    }
                }
                if number == 1 {
                    process = own;
                }
                if self.processes.len() < THREADS {
                    self.processes.insert(own, process);
                }
            }
        }
        Ok(())
    }
}

fn host(info: &[u8]) -> std::result::Result<Host, Malformed> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let some = |number: u64| (number > 0).then_some(number);
    let mut host = Host::default();
    for field in fields(info) {
        match field? {
            (1, utsname) => {
                for field in fields(utsname.bytes()) {
                    match field? {
                        (3, release) => host.kernel = text(release.bytes()),
                        (4, machine) => host.machine = text(machine.bytes()),
                        _ => {}
                    }
                }
            }
            (6, value) => host.page_bytes = some(value.number()),
            (8, value) => host.cpus = some(value.number()),
            (16, value) => host.memory_bytes = some(value.number()),
            _ => {}
        }
    }
    Ok(host)
}

struct Reader<'o> {
    collector: Collector<'o>,
    /// The process of each thread, as far as the trace says it.
    processes: HashMap<i32, i32>,
    /// The last name of each thread.
    comms: HashMap<i32, Vec<u8>>,
    /// By CPU, the thread that the last packed switch put on it.
    running: HashMap<u32, (i32, Vec<u8>)>,
    scratch: Scratch,
    /// Events so far, and of the whole trace of so many bytes. To find them was half of the work.
    events: u64,
    events_in_all: u64,
    bytes: usize,
}

impl<'o> Reader<'o> {
    fn new(output: &'o mut Output, scan: &mut Scan, bytes: usize) -> Self {
        Self {
            collector: Collector::new(output),
            processes: std::mem::take(&mut scan.processes),
            comms: HashMap::default(),
            running: HashMap::default(),
            scratch: Scratch::default(),
            events: 0,
            events_in_all: scan.events,
            bytes,
        }
    }

    fn event(&mut self, packet: u64, buffer: &[u8], entry: &Entry) -> Result<()> {
        if self.events % PROGRESS_EVENTS == 0 {
            let share = self.events as f64 / self.events_in_all.max(1) as f64;
            let done = self.bytes as f64 * (1.0 + share) / 2.0;
            self.collector.output.messages.done(done as u64)?;
        }
        self.events += 1;
        match entry.source {
            Source::Wake(pid) => self.emit(entry.ts_ns, pid, b"", Detail::Wake(pid)),
            Source::Switch {
                prev_state,
                next,
                next_comm: (start, end),
            } => {
                let next_comm = clean(&buffer[start as usize..end as usize]).into_owned();
                let running = (next, next_comm.clone());
                let Some((prev, prev_comm)) = self.running.insert(entry.cpu, running) else {
                    return Ok(());
                };
                let switch = Switch {
                    prev,
                    prev_comm: &prev_comm,
                    prev_state: state(prev_state),
                    next,
                    next_comm: &next_comm,
                };
                self.emit(entry.ts_ns, prev, &prev_comm, Detail::Switch(switch))
            }
            Source::Message(start, end) => {
                let data = &buffer[start as usize..end as usize];
                self.message(packet, entry.ts_ns, data)
            }
        }
    }

    fn message(&mut self, packet: u64, ts_ns: i64, data: &[u8]) -> Result<()> {
        let malformed = |_: Malformed| undecodable(packet);
        let Some(message) = message(data).map_err(malformed)? else {
            return Ok(());
        };
        let mut scratch = std::mem::take(&mut self.scratch);
        let Some((detail, comm)) = message.detail(&mut scratch).map_err(malformed)? else {
            return self.collector.count_other(message.name().as_bytes());
        };
        let Some(tid) = message.tid else {
            return Ok(());
        };
        let comm = match clean(comm) {
            Cow::Borrowed(b"") => self.comms.get(&tid).cloned().unwrap_or_default(),
            comm => {
                let comm = comm[..comm.len().min(COMM_BYTES)].to_vec();
                if self.comms.len() < THREADS {
                    self.comms.insert(tid, comm.clone());
                }
                comm
            }
        };
        self.emit(ts_ns, tid, &comm, detail)
    }

    fn emit(&mut self, ts_ns: i64, tid: i32, comm: &[u8], detail: Detail) -> Result<()> {
        if tid < 0 {
            return Ok(());
        }
        self.collector.event(&Event {
            n: self.events as i64,
            ts_ns,
            tid,
            tgid: self.processes.get(&tid).copied().filter(|&tgid| tgid >= 0),
            comm,
            detail,
        })
    }
}
