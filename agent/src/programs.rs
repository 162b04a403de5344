//! The programs in the kernel: load and attach them, and take out what they have summed up.

use std::collections::{BTreeMap, HashMap};
use std::mem::MaybeUninit;
use std::os::fd::AsFd;
use std::ptr::{addr_of, addr_of_mut};
use std::time::Duration;

use anyhow::{Context, Result};
use iowhy_readings::containers::Hierarchy;
use iowhy_readings::host::page_bytes;
use iowhy_readings::mounts::Mounts;
use iowhy_readings::{messages, Roots};
use iowhy_recorder::calls;
use iowhy_recorder::event::Plain;
use iowhy_recorder::kernel::choice::Choice;
use iowhy_recorder::kernel::older::{self, Helpers};
use iowhy_recorder::kernel::refusal::Refusal;
use iowhy_recorder::kernel::tracepoints::Tracepoints;
use iowhy_recorder::kernel::{costs_of, refusal, tables, Cost, Place};
use iowhy_recorder::rows::tick_ns;
use iowhy_store::manifest::Sensor;
use iowhy_tables::calls::Record;
use libbpf_rs::btf::Btf;
use libbpf_rs::skel::{OpenSkel, Skel, SkelBuilder};
use libbpf_rs::{ErrorKind, Link, MapCore as _, MapFlags, OpenObject};

use crate::choice::{self, On};
use crate::histogram::Histogram;
use crate::skeleton::{types, AgentSkel, AgentSkelBuilder, OpenAgentSkel};

/// What was counted: of which control group, on which device, by which program, and what was done there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    /// 0: not known.
    pub cgroup: u64,
    /// 0: none.
    pub dev: u32,
    pub what: u16,
    pub measure: u8,
}

// SAFETY: both are of integers only, without padding (bpf/aggregate.h).
unsafe impl Plain for Entry {}
unsafe impl Plain for EntryKey {}

#[derive(Clone, Copy)]
#[repr(transparent)]
struct Entry(types::aggregate);

#[derive(Clone, Copy)]
#[repr(transparent)]
struct EntryKey(types::aggregate_key);

/// How often halved all CPUs share an entry of each key (bpf/aggregate.h, SHARDS).
const SHARED_BY_ALL: u32 = 4;

/// The loaded programs. Dropping it detaches them and frees all that they held in the kernel.
pub struct Programs {
    skel: AgentSkel<'static>,
    links: Vec<Link>,
    pub sensors: Vec<Sensor>,
    lost: u64,
}

impl Programs {
    /// Loads what this kernel can run. An error says why it can run nothing.
    pub fn load(with_calls: bool) -> Result<Programs> {
        refusal::listen();
        let btf =
            Btf::from_vmlinux().context("this kernel has no BTF (/sys/kernel/btf/vmlinux)")?;
        let tracepoints = Tracepoints::new(&btf);
        let helpers = Helpers::new(&btf);
        let ask = |on| match on {
            On::Tracepoint(name) => tracepoints.get(name),
            On::Function(name, module) => tracepoints.function(name, module),
        };
        let mut place = Place::default();
        let mut refused = BTreeMap::new();
        let mut refusals: Vec<Refusal> = Vec::new();
        loop {
            let choice = choice::choose(with_calls, ask, &refused);
            if let Some(why) = choice.nothing() {
                anyhow::bail!(why);
            }
            // SAFETY: what an earlier attempt put there went away with its error.
            match attempt(unsafe { place.take() }, &choice, &helpers) {
                Ok(skel) => {
                    let verified = refusals.iter().filter(|one| one.verified);
                    let told = verified.filter_map(|one| one.told(&choice.sensors));
                    told.for_each(|told| messages::say(&told));
                    return Ok(Programs {
                        skel,
                        links: Vec::new(),
                        sensors: choice.sensors,
                        lost: 0,
                    });
                }
                Err(error) => match refusal::take() {
                    Some(refusal)
                        if !refused.contains_key(&refusal.program)
                            && !forbids(&refusal, &error) =>
                    {
                        refused.insert(refusal.program.clone(), refusal.words.clone());
                        refusals.push(refusal);
                    }
                    _ => return Err(error).context("the kernel does not take the programs"),
                },
            }
        }
    }

    /// From here on the programs run. A kernel may take one and yet not run it (of functions: ENOTSUPP, on arm64 before 6.4): then
    /// its sensor did not run.
    pub fn attach(&mut self) -> Result<()> {
        let mut refused: BTreeMap<&str, String> = BTreeMap::new();
        let mut links = Vec::new();
        for program in self.skel.object_mut().progs_mut() {
            let name = program.name().to_string_lossy().into_owned();
            let sensor = choice::sensor_of(&name);
            if !program.autoload() || refused.contains_key(sensor) {
                continue;
            }
            match program.attach() {
                Ok(link) => links.push((sensor, link)),
                Err(error) => {
                    refused.insert(sensor, format!("{name} cannot be attached: {error}"));
                    links.retain(|(of, _)| *of != sensor);
                }
            }
        }
        if links.is_empty() {
            anyhow::bail!(refused.into_values().next().unwrap_or_default());
        }
        for why in refused.values() {
            messages::say(why);
        }
        self.links = links.into_iter().map(|(_, link)| link).collect();
        for sensor in &mut self.sensors {
            if let Some(why) = refused.remove(sensor.name.as_str()) {
                *sensor = Sensor::missing(&*sensor.name, why);
            }
        }
        Ok(())
    }

    /// What was counted since this was last asked, and how many did not find room.
    pub fn drain(&mut self) -> (HashMap<Key, Histogram>, u64) {
        let bss = self.bss();
        // SAFETY: the page of globals is mapped as long as the object lives; the programs only read it.
        let old = unsafe {
            let old = addr_of!((*bss).half).read_volatile();
            addr_of_mut!((*bss).half).write_volatile(old + 1);
            old & 1
        };
        // A program that began before the switch may still be counting into the old half.
        std::thread::sleep(Duration::from_millis(1));
        let maps = &self.skel.maps;
        let map = match old {
            0 => maps.aggregates_0.as_fd(),
            _ => maps.aggregates_1.as_fd(),
        };
        let mut found: HashMap<Key, Histogram> = HashMap::new();
        for (EntryKey(key), Entry(entry)) in tables::empty::<EntryKey, Entry>(map) {
            let key = Key {
                cgroup: key.cgroup,
                dev: key.dev,
                what: key.what,
                measure: key.measure,
            };
            found.entry(key).or_default().add(&entry);
        }
        // SAFETY: as above; an aligned 64-bit read does not tear.
        let lost = unsafe { addr_of!((*bss).lost).read_volatile() };
        let new = lost - std::mem::replace(&mut self.lost, lost);
        if new > 0 {
            // SAFETY: as above; nobody else writes it.
            unsafe {
                let shared = addr_of_mut!((*bss).shared);
                shared.write_volatile((shared.read_volatile() + 1).min(SHARED_BY_ALL));
            }
        }
        (found, new)
    }

    /// Threads that are in an uninterruptible sleep now: those that have a slot, and those in the table beside it.
    pub fn waiting(&self) -> u64 {
        // SAFETY: as in `drain`.
        let in_table = unsafe { addr_of!((*self.bss()).waiting).read_volatile() };
        let slots = &self.skel.maps.slots;
        let all = slots.lookup_batch(slots.max_entries(), MapFlags::ANY, MapFlags::ANY);
        let whose = all.into_iter().flatten().map(|(_, slot)| owner(&slot));
        in_table + whose.filter(|pid| !matches!(*pid, 0 | u32::MAX)).count() as u64
    }

    /// What each program has cost the kernel so far (all 0 unless it counts: kernel.bpf_stats_enabled).
    pub fn costs(&self) -> Vec<Cost> {
        costs_of(self.skel.object())
    }

    fn bss(&self) -> *mut types::bss {
        let bss = self.skel.maps.bss_data.as_deref();
        bss.map_or(std::ptr::null_mut(), |bss| {
            std::ptr::from_ref(bss).cast_mut()
        })
    }
}

/// The thread whose a slot is (bpf/waits.h): 0 nobody's, all bits while it is written.
fn owner(slot: &[u8]) -> u32 {
    slot.first_chunk().map_or(0, |pid| u32::from_ne_bytes(*pid))
}

/// Whether no program would be taken. The verifier refuses with the same error, but has looked; where functions may not be
/// traced, it does not even look.
fn forbids(refusal: &Refusal, error: &anyhow::Error) -> bool {
    let known: Option<&libbpf_rs::Error> = error.downcast_ref();
    known.is_some_and(|known| known.kind() == ErrorKind::PermissionDenied)
        && !refusal.verified
        && !choice::is_on_function(&refusal.program)
}

fn attempt(
    place: &'static mut MaybeUninit<OpenObject>,
    choice: &Choice,
    helpers: &Helpers,
) -> Result<AgentSkel<'static>> {
    let mut open = AgentSkelBuilder::default()
        .open(place)
        .context("cannot open the programs")?;
    choice.apply(open.open_object_mut());
    set_constants(&mut open, helpers)?;
    let calls = choice.programs.contains("call_enter");
    open.maps.begun.set_autocreate(calls && helpers.tasks())?;
    open.maps
        .begun_by_number
        .set_autocreate(calls && !helpers.tasks())?;
    older::prepare(open.open_object_mut(), helpers, &[])?;
    Ok(open.load()?)
}

fn set_constants(open: &mut OpenAgentSkel<'_>, helpers: &Helpers) -> Result<()> {
    let rodata = open.maps.rodata_data.as_mut();
    let rodata = rodata.context("the programs have no constants")?;
    for known in &mut rodata.calls {
        known.fd_argument = -1;
    }
    for (number, call, record) in calls::recorded() {
        let known = &mut rodata.calls[number];
        known.fd_argument = call.fd.map_or(-1, |at| at as i8);
        known.does = match record {
            Record::Read => types::call_does::DOES_READ.0 as u8,
            Record::Write => types::call_does::DOES_WRITE.0 as u8,
            _ => 0,
        };
        known.recorded = 1;
    }
    let mounts = Mounts::read(&Roots::default()).ok();
    let hierarchy = mounts.and_then(|mounts| Hierarchy::of_machine(&mounts));
    rodata.group_controller = hierarchy
        .and_then(|hierarchy| hierarchy.controller())
        .and_then(|name| helpers.controller(name))
        .unwrap_or(-1);
    rodata.tick_ns = tick_ns() as u64;
    rodata.page_shift = page_bytes().ilog2();
    Ok(())
}
