//! The programs in the kernel: load and attach them, and read what they gather.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::io::Read;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::ptr::{addr_of, addr_of_mut};
use std::sync::Mutex;

use anyhow::{bail, Context, Result};
use iowhy_store::manifest::Sensor;
use libbpf_rs::btf::types;
use libbpf_rs::btf::{Btf, TypeId};
use libbpf_rs::skel::{OpenSkel, Skel, SkelBuilder};
use libbpf_rs::ReferencesType as _;
use libbpf_rs::{
    Iter, Link, MapCore, MapFlags, MapHandle, PrintLevel, RingBuffer, RingBufferBuilder,
};

use crate::cache::Known;
use crate::calls;
use crate::event::{self, CacheCounts, CacheKey, Plain, Request, Sample, Total, TotalKey};
use crate::sensors::{self, Choice, Tracepoint};
use crate::skeleton::{OpenRecorderSkel, RecorderSkel, RecorderSkelBuilder};

/// Log level that tells how much work the verifier had (include/linux/bpf_verifier.h, BPF_LOG_STATS).
const VERIFIER_STATISTICS: u32 = 4;

/// A sixteenth of what a half of the totals holds (bpf/syscall.h, totals_half).
const CROWD: u64 = 8192;

/// Whose events are kept.
#[derive(Clone, Debug)]
pub struct Options {
    /// Every thread of the machine, not only the command's.
    pub whole_machine: bool,
    /// Tracepoints to do without, as on a kernel that lacks them.
    pub without: Vec<String>,
}

/// The loaded programs. Dropping it detaches them and frees all that they held in the kernel.
pub struct Probe {
    skel: RecorderSkel<'static>,
    links: Vec<Link>,
    threads: Option<Link>,
    /// Entries of the totals that had been made when they were last emptied.
    emptied_totals: u64,
    pub sensors: Vec<Sensor>,
    /// What is known of the page cache.
    pub known: Known,
}

/// Events that found no room, by kind, and counts that found none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    pub events: [u64; event::kind::KINDS],
    pub cache: u64,
    pub totals: u64,
    pub threads: u64,
}

/// What a program has cost, by the kernel's own count.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Cost {
    pub name: String,
    pub runs: u64,
    pub ns: u64,
    /// Times that it was not run because it was running already.
    pub missed: u64,
}

/// One half of each drained table.
#[derive(Default)]
pub struct Drained {
    pub totals: Vec<(TotalKey, Total)>,
    pub cache: Vec<(CacheKey, CacheCounts)>,
}

impl Probe {
    /// Loads what this kernel can run. An error says why it can run nothing.
    ///
    /// A kernel may refuse a program though it has its tracepoint (a verifier that knows less): then that one is
    /// left out.
    pub fn load(options: &Options) -> Result<Probe> {
        let log = set_log();
        let btf =
            Btf::from_vmlinux().context("this kernel has no BTF (/sys/kernel/btf/vmlinux)")?;
        let tracepoint = |name: &str| {
            if options.without.iter().any(|w| w == name) {
                return Tracepoint::Missing;
            }
            ask(&btf, name)
        };
        let mut refused = BTreeMap::new();
        loop {
            let error = match load(options, &refused, &tracepoint, log) {
                Ok(probe) => return Ok(probe),
                Err(error) => error,
            };
            match take_refusal() {
                Some((program, words)) if !refused.contains_key(&program) => {
                    refused.insert(program, words);
                }
                _ => return Err(error),
            }
        }
    }

    /// From here on the programs run.
    pub fn attach(&mut self) -> Result<()> {
        for program in self.skel.object_mut().progs_mut() {
            if !program.autoload() {
                continue;
            }
            let name = program.name().to_string_lossy().into_owned();
            let link = program
                .attach()
                .with_context(|| format!("cannot attach {name}"))?;
            if name == "each_thread" {
                self.threads = Some(link);
            } else {
                self.links.push(link);
            }
        }
        Ok(())
    }

    /// Takes these processes, or on the whole machine all, into scope as they run now.
    pub fn adopt(&mut self, tgids: &[u32]) -> Result<()> {
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
    pub fn ring(&self, mut each: impl FnMut(&[u8]) + 'static) -> Result<RingBuffer<'static>> {
        // The map lives as long as the process: the object behind it is leaked.
        let map: &libbpf_rs::Map<'static> = unsafe { std::mem::transmute(&*self.skel.maps.ring) };
        let mut builder = RingBufferBuilder::new();
        builder.add(map, move |bytes| {
            each(bytes);
            0
        })?;
        builder.build().context("cannot map the ring of events")
    }

    /// Switches the tables that are counted into and empties the half that was written until now.
    pub fn drain(&mut self) -> Drained {
        let bss = self.bss();
        self.emptied_totals = self.new_totals();
        // SAFETY: the page of globals is mapped as long as the object lives; the programs only read it.
        let old = unsafe {
            let old = addr_of!((*bss).half).read_volatile();
            addr_of_mut!((*bss).half).write_volatile(old + 1);
            old
        };
        // A program that began before the switch may still be counting into the old half.
        std::thread::sleep(std::time::Duration::from_micros(200));
        let maps = &self.skel.maps;
        let (totals, cache) = if old & 1 == 0 {
            (maps.totals_0.as_fd(), maps.cache_0.as_fd())
        } else {
            (maps.totals_1.as_fd(), maps.cache_1.as_fd())
        };
        Drained {
            totals: empty(totals),
            cache: empty(cache),
        }
    }

    /// Whether a table is so full that it should be emptied before the interval is over: thousands of threads
    /// that begin and end together make as many entries in a moment.
    pub fn is_crowded(&self) -> bool {
        self.new_totals() - self.emptied_totals > CROWD
    }

    fn new_totals(&self) -> u64 {
        // SAFETY: as in `drain`; aligned 64-bit reads do not tear.
        unsafe { addr_of!((*self.bss()).new_totals).read_volatile() }
    }

    /// Requests that have not completed, or whose completion was not seen.
    pub fn unfinished(&self) -> Vec<Request> {
        empty::<u64, Request>(self.skel.maps.requests.as_fd())
            .into_iter()
            .map(|(_, r)| r)
            // An entry stays for the request that next has the same address.
            .filter(|r| r.queued != 0)
            .collect()
    }

    /// The kernel stacks that waits name.
    pub fn stacks(&self) -> Result<Stacks> {
        Ok(Stacks(MapHandle::try_from(&*self.skel.maps.stacks)?))
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
        let programs = self.skel.object().progs().filter(|p| p.autoload());
        programs
            .filter_map(|program| {
                let mut info = libbpf_rs::libbpf_sys::bpf_prog_info::default();
                let mut size = size_of_val(&info) as u32;
                // SAFETY: `info` is plain data of `size` bytes; its pointers are null, so that the kernel
                // fills in numbers alone.
                let done = unsafe {
                    libbpf_rs::libbpf_sys::bpf_obj_get_info_by_fd(
                        program.as_fd().as_raw_fd(),
                        addr_of_mut!(info).cast::<c_void>(),
                        &mut size,
                    )
                };
                (done == 0).then(|| Cost {
                    name: program.name().to_string_lossy().into_owned(),
                    runs: info.run_cnt,
                    ns: info.run_time_ns,
                    missed: info.recursion_misses,
                })
            })
            .collect()
    }

    fn set_adopting(&mut self, adopting: bool) {
        // SAFETY: as in `drain`.
        unsafe {
            let place = addr_of_mut!((*self.bss()).adopting);
            place.cast::<u8>().write_volatile(adopting.into());
        }
    }

    fn bss(&self) -> *mut crate::skeleton::types::bss {
        self.skel
            .maps
            .bss_data
            .as_deref()
            .map_or(std::ptr::null_mut(), |bss| {
                std::ptr::from_ref(bss).cast_mut()
            })
    }
}

fn load(
    options: &Options,
    refused: &BTreeMap<String, String>,
    tracepoint: &dyn Fn(&str) -> Tracepoint,
    log: bool,
) -> Result<Probe> {
    let place = Box::leak(Box::new(MaybeUninit::uninit()));
    let mut open = RecorderSkelBuilder::default()
        .open(place)
        .context("cannot open the programs")?;
    let choice = sensors::choose(|program| tracepoint_of(&open, program), tracepoint, refused);
    if choice.programs.is_empty() {
        bail!(
            "{}",
            choice
                .sensors
                .iter()
                .find_map(|s| s.why.clone())
                .unwrap_or_default()
        );
    }
    for mut program in open.open_object_mut().progs_mut() {
        let wanted = program
            .name()
            .to_str()
            .is_some_and(|name| choice.programs.contains(name));
        program.set_autoload(wanted);
        program.set_log_level(if log { VERIFIER_STATISTICS } else { 0 });
    }
    set_constants(&mut open, options, &choice)?;
    let skel = open
        .load()
        .context("the kernel does not take the programs")?;
    let known = Known {
        lookups: choice.programs.contains("on_get_pages"),
        faults: choice.programs.contains("on_file_fault"),
    };
    Ok(Probe {
        skel,
        links: Vec::new(),
        threads: None,
        emptied_totals: 0,
        sensors: choice.sensors,
        known,
    })
}

/// What the kernel's type information says of a tracepoint, its own or that of a filesystem's module.
fn ask(btf: &Btf<'_>, tracepoint: &str) -> Tracepoint {
    let name = format!("btf_trace_{tracepoint}");
    let Some(typedef) = btf.type_by_name::<types::Typedef<'_>>(&name) else {
        let in_module = sensors::module_of(tracepoint).is_some_and(|module| {
            std::fs::read(format!("/sys/kernel/btf/{module}"))
                .is_ok_and(|types| memmem(&types, format!("{name}\0").as_bytes()))
        });
        return if in_module {
            Tracepoint::Has(None)
        } else {
            Tracepoint::Missing
        };
    };
    let function = types::Ptr::try_from(typedef.referenced_type())
        .ok()
        .and_then(|pointer| types::FuncProto::try_from(pointer.referenced_type()).ok());
    // The first is the kernel's own.
    Tracepoint::Has(function.map(|f| f.iter().skip(1).map(|p| pointed_to(btf, p.ty)).collect()))
}

/// The structure that a parameter points to; "-" for anything else.
fn pointed_to(btf: &Btf<'_>, parameter: TypeId) -> String {
    btf.type_by_id::<types::Ptr<'_>>(parameter)
        .map(|pointer| pointer.referenced_type().skip_mods_and_typedefs())
        .and_then(|to| types::Struct::try_from(to).ok())
        .and_then(|to| to.name().map(|name| name.to_string_lossy().into_owned()))
        .unwrap_or_else(|| "-".into())
}

fn memmem(bytes: &[u8], wanted: &[u8]) -> bool {
    bytes.windows(wanted.len()).any(|window| window == wanted)
}

/// Kernel stacks by their ids.
pub struct Stacks(MapHandle);

impl Stacks {
    /// Addresses of a stack, innermost first.
    pub fn read(&self, id: i32) -> Vec<u64> {
        let found = self.0.lookup(&id.to_ne_bytes(), MapFlags::ANY);
        let bytes = found.ok().flatten().unwrap_or_default();
        bytes
            .chunks_exact(8)
            .filter_map(|chunk| chunk.try_into().ok().map(u64::from_ne_bytes))
            .take_while(|&address| address != 0)
            .collect()
    }
}

fn set_constants(
    open: &mut OpenRecorderSkel<'_>,
    options: &Options,
    choice: &Choice,
) -> Result<()> {
    let rodata = open
        .maps
        .rodata_data
        .as_mut()
        .context("the programs have no constants")?;
    for number in 0..calls::MOST {
        let Some(shape) = calls::shape(number as u16) else {
            continue;
        };
        let place = &mut rodata.calls[number];
        place.kind = shape.kind as u8;
        place.fd_arg = shape.fd;
        place.bytes_arg = shape.bytes;
        place.offset_arg = shape.offset;
        place.how = shape.how;
    }
    rodata.whole_machine = options.whole_machine;
    rodata.recorder_tgid = std::process::id();
    rodata.estimate_lookups = !choice.programs.contains("on_get_pages");
    rodata.no_io_start = !choice.programs.contains("on_io_start");
    rodata.direct_flag = libc::O_DIRECT as u32;
    Ok(())
}

/// The tracepoint in a program's section name (`tp_btf/NAME`); None for the iterator.
fn tracepoint_of(open: &OpenRecorderSkel<'_>, program: &str) -> Option<String> {
    open.open_object()
        .progs()
        .find(|p| p.name() == program)
        .and_then(|p| {
            p.section()
                .to_str()?
                .strip_prefix("tp_btf/")
                .map(str::to_owned)
        })
}

/// Takes all entries out of a hash map.
fn empty<K: Plain, V: Plain>(map: BorrowedFd<'_>) -> Vec<(K, V)> {
    const BATCH: usize = 8192;
    let mut out = Vec::new();
    let mut keys: Vec<MaybeUninit<K>> = Vec::with_capacity(BATCH);
    let mut values: Vec<MaybeUninit<V>> = Vec::with_capacity(BATCH);
    let mut position = [0u32; 2];
    let mut first = true;
    loop {
        let mut count = BATCH as u32;
        let start = if first {
            std::ptr::null_mut()
        } else {
            position.as_mut_ptr().cast::<c_void>()
        };
        // SAFETY: the buffers hold BATCH keys and values of the map's sizes (checked by a test), and a
        // position of a hash map takes four bytes.
        let done = unsafe {
            libbpf_rs::libbpf_sys::bpf_map_lookup_and_delete_batch(
                map.as_raw_fd(),
                start,
                position[1..].as_mut_ptr().cast(),
                keys.as_mut_ptr().cast(),
                values.as_mut_ptr().cast(),
                &mut count,
                std::ptr::null(),
            )
        };
        let error = if done < 0 {
            std::io::Error::last_os_error().raw_os_error()
        } else {
            None
        };
        if !matches!(error, None | Some(libc::ENOENT)) {
            return out;
        }
        for place in 0..count as usize {
            // SAFETY: the kernel has filled in `count` of them; Plain types take every value.
            out.push(unsafe {
                (
                    keys.as_ptr().add(place).cast::<K>().read(),
                    values.as_ptr().add(place).cast::<V>().read(),
                )
            });
        }
        if error.is_some() {
            return out;
        }
        position[0] = position[1];
        first = false;
    }
}

// SAFETY: an integer.
unsafe impl Plain for u64 {}

/// What libbpf said last of a program that the kernel did not take, and the verifier's words on it.
static REFUSAL: Mutex<(String, Option<(String, String)>)> = Mutex::new((String::new(), None));

fn take_refusal() -> Option<(String, String)> {
    REFUSAL.lock().ok()?.1.take()
}

/// libbpf's own messages would mix with the command's output; what they say of a refused program is kept.
/// IOWHY_BPF_LOG=1 shows them, the verifier's words among them.
fn set_log() -> bool {
    let wanted = std::env::var_os("IOWHY_BPF_LOG").is_some();
    if wanted {
        libbpf_rs::set_print(Some((PrintLevel::Debug, |_, text| {
            eprint!("{text}");
            hear(&text);
        })));
    } else {
        libbpf_rs::set_print(Some((PrintLevel::Warn, |_, text| hear(&text))));
    }
    wanted
}

/// libbpf tells first the verifier's log of a program, then that the program failed to load.
fn hear(text: &str) {
    let Ok(mut refusal) = REFUSAL.lock() else {
        return;
    };
    if let Some((_, log)) = text.split_once("-- BEGIN PROG LOAD LOG --") {
        refusal.0 = last_words(log);
    } else if let Some((program, error)) = text
        .strip_prefix("libbpf: prog '")
        .and_then(|rest| rest.split_once("': failed to load: "))
    {
        let words = std::mem::take(&mut refusal.0);
        let words = if words.is_empty() {
            error.trim()
        } else {
            &words
        }
        .to_owned();
        refusal.1 = Some((program.to_owned(), words));
    }
}

/// The line of a verifier's log that says what is wrong: the last one before its statistics.
fn last_words(log: &str) -> String {
    const STATISTICS: &[&str] = &[
        "processed ",
        "verification time",
        "stack depth",
        "subprog ",
        "--",
        "libbpf",
    ];
    log.lines()
        .map(str::trim)
        .rfind(|line| !line.is_empty() && !STATISTICS.iter().any(|s| line.starts_with(s)))
        .unwrap_or_default()
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_libbpf_says_of_a_refused_program_is_kept() {
        hear("libbpf: prog 'on_a': BPF program load failed: -EACCES\n");
        hear(
            "libbpf: prog 'on_a': -- BEGIN PROG LOAD LOG --\n\
             func 'jbd2_start_commit' arg1 has btf_id 113668 type STRUCT 'transaction_s'\n\
             R6 pointer arithmetic on trusted_ptr_or_null_ prohibited, null-check it first\n\
             verification time 4438 usec\nstack depth 80\nsubprog 0 (on_a) main insns_self 31\n\
             processed 23 insns (limit 1000000) max_states_per_insn 0\n-- END PROG LOAD LOG --\n",
        );
        hear("libbpf: prog 'on_a': failed to load: -EACCES\n");
        hear("libbpf: failed to load object 'recorder_bpf'\n");
        let words = "R6 pointer arithmetic on trusted_ptr_or_null_ prohibited, null-check it first";
        assert_eq!(take_refusal(), Some(("on_a".into(), words.into())));
        // One that the kernel has no type for is told without a verifier's log.
        hear("libbpf: prog 'on_b': failed to load: -ESRCH\n");
        assert_eq!(take_refusal(), Some(("on_b".into(), "-ESRCH".into())));
        assert_eq!(take_refusal(), None);
    }
}
