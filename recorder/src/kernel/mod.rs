//! The programs in the kernel: load and attach them, and read what they gather.

mod block;
pub mod choice;
mod cost;
mod drain;
mod frames;
mod links;
mod load;
pub mod older;
mod place;
pub mod refusal;
pub mod relevant;
mod stacks;
mod symbols;
pub mod tables;
pub mod tracepoints;
mod uprobes;
mod usercopy;

use std::collections::BTreeMap;
use std::io::Read;
use std::os::fd::AsFd;
use std::ptr::{addr_of, addr_of_mut};

use anyhow::{Context, Result};
use iowhy_store::manifest::Sensor;
use libbpf_rs::skel::Skel;
use libbpf_rs::{
    Iter, Link, MapCore, MapFlags, MapHandle, ProgramType, RingBuffer, RingBufferBuilder,
};

use crate::cache::Known;
use crate::event::{self, Operation, OperationKey, Request, Sample};
use crate::rows::thread::Kept;
use crate::skeleton::{types, RecorderSkel};

pub use block::Block;
pub use cost::{costs_of, write_costs, Cost};
pub use drain::Drained;
use drain::Made;
pub use frames::Stacks;
use links::Links;
pub use links::NotAttached;
pub use load::LoadError;
pub use place::Place;
use refusal::Refusal;
pub use symbols::Symbols;
pub use uprobes::Probed;

/// What counts the CPU time that frees memory.
const RECLAIM: [&str; 4] = [
    "on_reclaim_begin",
    "on_reclaim_end",
    "on_group_reclaim_begin",
    "on_group_reclaim_end",
];

/// Whose events are kept.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Every thread of the machine, not only the command's.
    pub whole_machine: bool,
    /// Control groups are recorded ([`Probe::adopt`] says which).
    pub by_group: bool,
    /// The controller of version 1 whose groups count (enum cgroup_subsys_id); None: those of version 2.
    pub group_controller: Option<&'static str>,
    /// Tracepoints to do without, as on a kernel that lacks them.
    pub without: Vec<String>,
    /// Programs that the kernel refused to run after it had taken them, and why.
    pub refused: BTreeMap<String, String>,
    /// Programs that are made such that no kernel takes them (for tests).
    pub spoil: Vec<String>,
    /// User stacks are taken.
    pub stacks: bool,
    /// Functions of databases are probed.
    pub statements: bool,
    /// What is recorded is a block of a program.
    pub block: Option<Block>,
}

/// The loaded programs. Dropping it detaches them and frees all that they held in the kernel.
pub struct Probe {
    skel: RecorderSkel<'static>,
    links: Vec<Link>,
    threads: Option<Link>,
    /// What had been made in each half of the drained tables when it was last emptied.
    emptied: [Made; 2],
    drains: u32,
    /// Processes that had come into a recorded control group when their threads were last looked for.
    entered: u64,
    pub sensors: Vec<Sensor>,
    pub refusals: Vec<Refusal>,
    /// What calls pay can be measured (calibration.rs): of a process that was followed before the recording nothing stays.
    pub times_calls: bool,
    /// What is known of the page cache.
    pub known: Known,
    /// Which sums the clocks of threads have.
    pub kept: Kept,
    /// What drivers give back is seen.
    pub sees_requeues: bool,
    /// The programs take user stacks.
    takes_stacks: bool,
}

/// Events that found no room, by kind, and counts that found none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    pub events: [u64; event::KINDS],
    pub cache: u64,
    pub totals: u64,
    pub threads: u64,
}

impl Probe {
    /// Loads what this kernel can run. An error says why it can run nothing.
    pub fn load(options: &Options) -> Result<Probe, LoadError> {
        let load::Loaded {
            skel,
            choice,
            tasks,
            stacks,
            refusals,
        } = load::load(options)?;
        let known = Known {
            lookups: choice.programs.contains("on_get_pages"),
            faults: choice.programs.contains("on_file_fault"),
        };
        let runs = |names: &[&str]| names.iter().all(|n| choice.programs.contains(n));
        let sees_requeues = runs(&["on_rq_requeue"]);
        let kept = Kept {
            waits: runs(&["on_sched_waking"]),
            reclaim: runs(&RECLAIM),
            costs: None,
        };
        Ok(Probe {
            skel,
            links: Vec::new(),
            threads: None,
            emptied: [Made::default(); 2],
            drains: 0,
            entered: 0,
            sensors: choice.sensors,
            refusals,
            times_calls: tasks && runs(&choice::PASSED_BY_CALLS[..3]),
            known,
            kept,
            sees_requeues,
            takes_stacks: stacks,
        })
    }

    /// From here on the programs run.
    pub fn attach(&mut self) -> Result<()> {
        let find = &self.skel.progs.find_functions;
        if find.autoload() {
            symbols::run_once(find.as_fd()).context("cannot look up functions of the kernel")?;
        } else {
            self.find_functions();
        }
        let mut links = Links::default();
        for program in self.skel.object_mut().progs_mut() {
            if !program.autoload() || program.prog_type() == ProgramType::Syscall {
                continue;
            }
            // They are attached to programs as these are met (uprobes.rs).
            if program.prog_type() == ProgramType::Kprobe {
                continue;
            }
            if program.prog_type() == ProgramType::PerfEvent {
                match stacks::attach_clock(&program) {
                    Ok(clocks) => links.running.extend(clocks),
                    Err(error) => choice::without_clock(&mut self.sensors, &error),
                }
                continue;
            }
            links.push(program)?;
        }
        self.links.append(&mut links.running);
        self.threads = links.threads;
        // SAFETY: as in `drain`.
        unsafe {
            let place = addr_of_mut!((*self.bss()).stacks_begun);
            place.cast::<u8>().write_volatile(1);
        }
        Ok(())
    }

    /// Only what a call of one process passes: the programs run as long as these links live.
    pub fn attach_to_calls(&mut self, tgid: u32) -> Result<Vec<Link>> {
        let mut links = Links::default();
        for program in self.skel.object_mut().progs_mut() {
            let passed = choice::PASSED_BY_CALLS
                .iter()
                .any(|name| program.name() == *name);
            if program.autoload() && passed {
                links.push(program)?;
            }
        }
        self.threads = links.threads;
        self.set_only_targets(true);
        let adopted = self.adopt(&[tgid], &[]);
        self.set_only_targets(false);
        adopted.map(|()| links.running)
    }

    /// Empties the tables of what was counted and named before the recording.
    pub fn forget_all(&mut self) {
        self.drain();
        let maps = &self.skel.maps;
        for key in maps.touched.keys() {
            let _ = maps.touched.delete(&key);
        }
        for key in maps.touched_filesystems.keys() {
            let _ = maps.touched_filesystems.delete(&key);
        }
    }

    /// From here on none of the programs runs any more; the next [`Probe::sample`] has them emit what they still hold.
    pub fn end(&mut self) {
        self.links.clear();
        // SAFETY: as in `drain`.
        unsafe {
            let place = addr_of_mut!((*self.bss()).ended);
            place.cast::<u8>().write_volatile(1);
        }
    }

    /// What the program of that name does (bpf/symbols.h), where the kernel has no such programs.
    fn find_functions(&mut self) {
        let list = symbols::List::read();
        let bss = self.bss();
        // SAFETY: as in `drain`; no program is attached yet.
        unsafe {
            for (place, name) in [
                (addr_of_mut!((*bss).iomap_dio_end), "iomap_dio_bio_end_io"),
                (addr_of_mut!((*bss).xfs_log_end), "xlog_bio_end_io"),
                (addr_of_mut!((*bss).xfs_buffer_end), "xfs_buf_bio_end_io"),
                (addr_of_mut!((*bss).chain_end), "bio_chain_endio"),
                (addr_of_mut!((*bss).crypt_end), "crypt_endio"),
                (addr_of_mut!((*bss).clone_end), "clone_endio"),
                (
                    addr_of_mut!((*bss).raid5_read_end),
                    "raid5_end_read_request",
                ),
                (
                    addr_of_mut!((*bss).raid5_write_end),
                    "raid5_end_write_request",
                ),
                (addr_of_mut!((*bss).md_super_end), "super_written"),
            ] {
                place.write(list.address(name));
            }
        }
    }

    /// Takes these processes, what is in these control groups (by their numbers), or on the whole machine all, into
    /// scope as they run now.
    pub fn adopt(&mut self, tgids: &[u32], groups: &[u64]) -> Result<()> {
        for group in groups {
            let map = &self.skel.maps.groups;
            map.update(&group.to_ne_bytes(), &[1], MapFlags::ANY)?;
        }
        for tgid in tgids {
            self.skel
                .maps
                .targets
                .update(&tgid.to_ne_bytes(), &[1], MapFlags::ANY)?;
        }
        self.set_adopting(true);
        let walked = self.sample();
        self.set_adopting(false);
        for tgid in tgids {
            let _ = self.skel.maps.targets.delete(&tgid.to_ne_bytes());
        }
        walked.map(drop)
    }

    /// Takes the threads of processes that have come into a recorded control group into scope.
    pub fn adopt_entered(&mut self) -> Result<()> {
        // SAFETY: as in `drain`; aligned 64-bit reads do not tear.
        let entered = unsafe { addr_of!((*self.bss()).entered).read_volatile() };
        if entered == self.entered {
            return Ok(());
        }
        self.entered = entered;
        self.adopt(&[], &[])
    }

    /// The clocks of all threads in scope, and the calls that they are in.
    pub fn sample(&self) -> Result<Vec<Sample>> {
        let link = self
            .threads
            .as_ref()
            .context("the walk over the threads is not attached")?;
        let mut bytes = Vec::new();
        Iter::new(link)
            .context("cannot walk the threads")?
            .read_to_end(&mut bytes)
            .context("cannot walk the threads")?;
        Ok(bytes
            .chunks_exact(size_of::<Sample>())
            .filter_map(event::read)
            .collect())
    }

    /// The ring of events; `each` gets every record.
    pub fn ring(&self, each: impl FnMut(&[u8]) + 'static) -> Result<RingBuffer<'static>> {
        ring_of(MapHandle::try_from(&*self.skel.maps.ring)?, each)
    }

    /// The ring of user stacks; None where none are taken.
    pub fn stack_ring(
        &self,
        each: impl FnMut(&[u8]) + 'static,
    ) -> Result<Option<RingBuffer<'static>>> {
        if !self.takes_stacks {
            return Ok(None);
        }
        ring_of(MapHandle::try_from(&*self.skel.maps.stack_ring)?, each).map(Some)
    }

    /// Requests that have not completed, or whose completion was not seen.
    pub fn unfinished(&self) -> Vec<Request> {
        tables::empty::<u64, Request>(self.skel.maps.requests.as_fd())
            .into_iter()
            .map(|(_, r)| r)
            // An entry stays for the request that next has the same address.
            .filter(|r| r.queued != 0)
            .collect()
    }

    /// Operations of io_uring and libaio that are not done, or whose end was not seen.
    pub fn under_way(&self) -> Vec<Operation> {
        tables::empty::<OperationKey, Operation>(self.skel.maps.operations.as_fd())
            .into_iter()
            .map(|(_, o)| o)
            .filter(|o| o.submitted != 0)
            .collect()
    }

    pub fn lost(&self) -> Lost {
        let bss = self.bss();
        // SAFETY: as in `drain`; aligned 64-bit reads do not tear.
        unsafe {
            Lost {
                events: addr_of!((*bss).lost).read_volatile(),
                cache: addr_of!((*bss).lost_counts).read_volatile(),
                totals: addr_of!((*bss).lost_totals).read_volatile(),
                threads: addr_of!((*bss).lost_threads).read_volatile(),
            }
        }
    }

    /// What each program has cost so far; all 0 unless the kernel counts (kernel.bpf_stats_enabled).
    pub fn costs(&self) -> Vec<Cost> {
        costs_of(self.skel.object())
    }

    fn set_adopting(&mut self, adopting: bool) {
        // SAFETY: as in `drain`.
        unsafe {
            let place = addr_of_mut!((*self.bss()).adopting);
            place.cast::<u8>().write_volatile(adopting.into());
        }
    }

    fn set_only_targets(&mut self, only: bool) {
        // SAFETY: as in `drain`.
        unsafe {
            let place = addr_of_mut!((*self.bss()).only_targets);
            place.cast::<u8>().write_volatile(only.into());
        }
    }

    fn bss(&self) -> *mut types::bss {
        self.skel
            .maps
            .bss_data
            .as_deref()
            .map_or(std::ptr::null_mut(), |bss| {
                std::ptr::from_ref(bss).cast_mut()
            })
    }
}

fn ring_of(map: MapHandle, mut each: impl FnMut(&[u8]) + 'static) -> Result<RingBuffer<'static>> {
    let mut builder = RingBufferBuilder::new();
    builder.add(&map, move |bytes| {
        each(bytes);
        0
    })?;
    builder.build().context("cannot map a ring of events")
}
