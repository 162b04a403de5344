//! What watches the command: the programs in the kernel, or, where they cannot run, /proc alone.

use std::cell::{Cell, RefCell};
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use anyhow::{Context, Result};
use iowhy_readings::watcher::ProcWatcher;
use iowhy_readings::{host, Roots};
use iowhy_store::manifest::{Sensor, Source};
use libbpf_rs::RingBuffer;

use crate::calibration;
use crate::collect::{names_file, Collector, Ran};
use crate::groups::Groups;
use crate::kernel::refusal::{self, Refusal};
use crate::kernel::{choice, Cost, Probe, Probed};
use crate::rows::own_cost::CallCosts;

/// Between two looks at the threads in /proc.
const LOOK_EVERY_NS: i64 = 25_000_000;

/// Where rows go, shared with the callback of the ring.
pub type Shared = Rc<RefCell<Collector>>;

pub enum Watch {
    Programs(Box<Programs>),
    Proc(Box<Proc>),
}

pub struct Programs {
    ring: Rc<RingBuffer<'static>>,
    stack_ring: Option<RingBuffer<'static>>,
    probe: Probe,
    /// Bytes of records that were taken out of the ring.
    taken: Rc<Cell<usize>>,
}

pub struct Proc {
    watcher: Option<ProcWatcher>,
    looked_ns: i64,
    whole_machine: bool,
    groups: Groups,
    /// Why the programs do not run.
    why: String,
    /// User stacks were asked for.
    stacks: bool,
}

impl Programs {
    /// Takes all records that are there.
    fn consume(&self) {
        self.ring.consume_raw();
        if let Some(ring) = &self.stack_ring {
            ring.consume_raw();
        }
    }
}

impl Watch {
    /// Starts the programs; from here on they write records.
    pub fn programs(mut probe: Probe, collector: &Shared) -> Result<Watch> {
        // Where it is not known (before Linux 5.11, or no process can be started) nothing is taken out for it.
        probe.kept.costs = calibration::call_costs(&mut probe).ok();
        collector
            .borrow_mut()
            .set_known(probe.known, probe.kept, probe.sees_requeues);
        let (target, of_stacks) = (collector.clone(), collector.clone());
        let stacks = Rc::new(RefCell::new(probe.stacks()?));
        let functions = stacks.clone();
        let taken = Rc::new(Cell::new(0));
        let count = taken.clone();
        let ring = Rc::new(probe.ring(move |bytes| {
            count.set(count.get() + bytes.len());
            let mut read = |id| stacks.borrow_mut().read(id);
            target.borrow_mut().event(bytes, &mut read);
        })?);
        let of_files = ring.clone();
        let stack_ring = probe.stack_ring(move |bytes| {
            if names_file(bytes) {
                // The file's own record was written before this one.
                of_files.consume_raw();
            }
            let mut name = |addresses: &[u64]| functions.borrow_mut().names(addresses);
            of_stacks.borrow_mut().stack_event(bytes, &mut name);
        })?;
        probe.attach()?;
        Ok(Watch::Programs(Box::new(Programs {
            ring,
            stack_ring,
            probe,
            taken,
        })))
    }

    pub fn proc(whole_machine: bool, why: String, stacks: bool) -> Watch {
        Watch::Proc(Box::new(Proc {
            watcher: None,
            looked_ns: 0,
            whole_machine,
            groups: Groups::default(),
            why,
            stacks,
        }))
    }

    pub fn source(&self) -> Source {
        match self {
            Watch::Programs(_) => Source::Live,
            Watch::Proc(_) => Source::Proc,
        }
    }

    /// Programs that the kernel did not take.
    pub fn refusals(&self) -> &[Refusal] {
        match self {
            Watch::Programs(programs) => &programs.probe.refusals,
            Watch::Proc(_) => &[],
        }
    }

    /// Why none of the programs run, if the kernel refuses one that all need.
    pub fn refused_whole(&self) -> Option<&str> {
        match self {
            Watch::Proc(proc) if proc.why.starts_with(refusal::BEGIN) => Some(&proc.why),
            _ => None,
        }
    }

    pub fn sensors(&self) -> Vec<Sensor> {
        match self {
            Watch::Programs(programs) => programs.probe.sensors.clone(),
            Watch::Proc(proc) => choice::from_proc(&proc.why, proc.stacks),
        }
    }

    /// What the programs cost a call here; None where that is not known.
    pub fn call_costs(&self) -> Option<CallCosts> {
        match self {
            Watch::Programs(programs) => programs.probe.kept.costs,
            Watch::Proc(_) => None,
        }
    }

    /// What each program in the kernel has cost so far.
    pub fn costs(&self) -> Vec<Cost> {
        match self {
            Watch::Programs(programs) => programs.probe.costs(),
            Watch::Proc(_) => Vec::new(),
        }
    }

    /// Takes these processes into scope, or what is in the groups, or on the whole machine all.
    pub fn adopt(&mut self, pids: &[u32], groups: &Groups) -> Result<()> {
        match self {
            Watch::Programs(programs) => programs.probe.adopt(pids, &groups.numbers()),
            Watch::Proc(proc) => {
                let pids = if proc.whole_machine {
                    processes()?
                } else {
                    let pids = pids.iter().map(|&p| p.into());
                    pids.chain(groups.processes()).collect()
                };
                proc.groups = groups.clone();
                proc.watcher = Some(ProcWatcher::new(
                    &Roots::default(),
                    pids,
                    None,
                    host::now_ns(),
                ));
                Ok(())
            }
        }
    }

    /// Probes the functions of databases that a file has; None where /proc alone is read.
    pub fn probe_databases(&mut self, file: &Path) -> Option<Probed> {
        match self {
            Watch::Programs(programs) => Some(programs.probe.probe_databases(file)),
            Watch::Proc(_) => None,
        }
    }

    /// Why statements are not known, if they are not.
    pub fn note_databases(&mut self, why: Option<&str>) {
        if let Watch::Programs(programs) = self {
            programs.probe.note_databases(why);
        }
    }

    /// Takes what is there to take; says how many bytes it was.
    pub fn take(&mut self, collector: &Shared) -> Result<usize> {
        match self {
            Watch::Programs(programs) => {
                programs.taken.set(0);
                programs.consume();
                programs.probe.adopt_entered()?;
                Ok(programs.taken.get())
            }
            Watch::Proc(proc) => {
                let now = host::now_ns();
                if now - proc.looked_ns >= LOOK_EVERY_NS {
                    proc.looked_ns = now;
                    if let Some(watcher) = &mut proc.watcher {
                        watcher.add(proc.groups.processes());
                        let mut collector = collector.borrow_mut();
                        watcher.sample(now, &mut |reading| collector.reading(reading))?;
                    }
                }
                Ok(0)
            }
        }
    }

    /// Ends an interval at `now`.
    pub fn interval(&mut self, collector: &Shared, now: i64) -> Result<()> {
        match self {
            Watch::Programs(programs) => {
                let samples = programs.probe.sample()?;
                let drained = programs.probe.drain();
                // What the programs wrote before the switch belongs to this interval.
                programs.consume();
                let lost = programs.probe.lost();
                let mut collector = collector.borrow_mut();
                Ok(collector.interval(&samples, drained, lost, now as u64)?)
            }
            Watch::Proc(_) => Ok(collector.borrow_mut().recording().tick(now)?),
        }
    }

    /// Whether the interval should end now, because there is too much to keep until its time is over.
    pub fn is_crowded(&self) -> bool {
        match self {
            Watch::Programs(programs) => programs.probe.is_crowded(),
            Watch::Proc(_) => false,
        }
    }

    /// When a block that says it itself began and ended; None: not yet, or what watches does not see it.
    pub fn block(&self) -> (Option<i64>, Option<i64>) {
        let Watch::Programs(programs) = self else {
            return (None, None);
        };
        let (began, ended) = programs.probe.block();
        let known = |ns: u64| (ns > 0).then_some(ns as i64);
        (known(began), known(ended))
    }

    /// Processes that are watched and have not ended.
    pub fn alive(&self, collector: &Shared) -> Vec<i64> {
        match self {
            Watch::Programs(_) => collector.borrow().alive(),
            Watch::Proc(proc) => proc
                .watcher
                .as_ref()
                .map_or_else(Vec::new, ProcWatcher::tgids),
        }
    }

    /// What ran of what is watched since this was last asked; None where that is not known.
    pub fn take_ran(&self, collector: &Shared) -> Option<Ran> {
        match self {
            Watch::Programs(_) => Some(collector.borrow_mut().take_ran()),
            Watch::Proc(_) => None,
        }
    }

    /// How long to leave the ring alone after this many bytes of records, at most; to look at it seldom costs the command
    /// fewest of its turns on a CPU. It holds 64 MiB, of which the fastest commands fill ten in an interval.
    pub fn pause(&self, taken: usize) -> Duration {
        Duration::from_millis(match (self, taken) {
            (_, 0x80_0000..) => 0,
            (_, 0x10_0000..) => 5,
            (_, 0x1_0000..) | (Watch::Proc(_), _) => 25,
            // Nothing much happens.
            _ => 100,
        })
    }

    /// True when no record of the command's end is to be waited for.
    pub fn is_done(&self, collector: &Shared) -> bool {
        matches!(self, Watch::Proc(_)) || collector.borrow().main_ended()
    }

    /// Writes what is still open.
    pub fn finish(mut self, collector: &Shared) -> Result<()> {
        match &mut self {
            Watch::Programs(programs) => {
                programs.probe.end();
                let samples = programs.probe.sample()?;
                programs.consume();
                let unfinished = programs.probe.unfinished();
                let under_way = programs.probe.under_way();
                let drained = programs.probe.drain();
                let mut collector = collector.borrow_mut();
                collector.finish(&samples, &unfinished, &under_way)?;
                let lost = programs.probe.lost();
                collector.interval(&[], drained, lost, host::now_ns() as u64)?;
                Ok(collector.failed()?)
            }
            Watch::Proc(proc) => {
                let mut collector = collector.borrow_mut();
                if let Some(watcher) = proc.watcher.take() {
                    watcher.finish(host::now_ns(), &mut |reading| collector.reading(reading))?;
                }
                Ok(collector.failed()?)
            }
        }
    }
}

/// Every process of the machine but this one.
pub fn processes() -> Result<Vec<i64>> {
    let own = i64::from(std::process::id());
    let entries = std::fs::read_dir("/proc").context("/proc")?;
    let pids = entries
        .flatten()
        .filter_map(|e| e.file_name().to_str()?.parse::<i64>().ok());
    Ok(pids.filter(|&pid| pid != own).collect())
}
