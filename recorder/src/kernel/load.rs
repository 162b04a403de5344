//! Loads the programs that this kernel can run.

use std::collections::BTreeMap;
use std::mem::MaybeUninit;
use std::path::Path;

use iowhy_readings::devices::Stacks;
use iowhy_readings::host;
use iowhy_tables::calls::Call;
use libbpf_rs::btf::Btf;
use libbpf_rs::skel::{OpenSkel, SkelBuilder};
use libbpf_rs::{ErrorKind, OpenObject};

use super::choice::{self, Choice, Tracepoint, UserStacks};
use super::older::{self, Helpers};
use super::place::Place;
use super::refusal::{self, Refusal};
use super::relevant::Relevant;
use super::tracepoints::Tracepoints;
use super::{usercopy, Options};
use crate::calls;
use crate::skeleton::{OpenRecorderSkel, RecorderSkel, RecorderSkelBuilder};

/// Why no program runs.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error("this kernel has no BTF (/sys/kernel/btf/vmlinux)")]
    NoTypes(#[source] libbpf_rs::Error),
    #[error("not permitted to load eBPF programs (`iowhy doctor`, with --on HOST from elsewhere, says why)")]
    NotPermitted,
    #[error("{0}")]
    NoSensor(String),
    #[error("cannot open the programs")]
    Broken(#[source] libbpf_rs::Error),
    #[error("the kernel does not take the programs")]
    Refused(#[source] libbpf_rs::Error),
}

/// The loaded programs and what was chosen of them.
pub(super) struct Loaded {
    pub skel: RecorderSkel<'static>,
    pub choice: Choice,
    /// Threads are in the storage of their tasks.
    pub tasks: bool,
    /// User stacks are taken.
    pub stacks: bool,
    /// Programs that the kernel did not take.
    pub refusals: Vec<Refusal>,
}

/// Loads what this kernel can run.
///
/// A kernel may refuse a program though it has its tracepoint (a verifier that knows less): then that one is left out.
pub(super) fn load(options: &Options) -> Result<Loaded, LoadError> {
    refusal::listen();
    let btf = Btf::from_vmlinux().map_err(LoadError::NoTypes)?;
    let tracepoints = Tracepoints::new(&btf);
    let helpers = Helpers::new(&btf);
    let without = options.without.clone();
    let tracepoint = |name: &str| {
        if without.iter().any(|w| w == name) {
            return Tracepoint::Missing;
        }
        tracepoints.get(name)
    };
    let relevant = Relevant::of_kernel();
    let mut place = Place::default();
    let mut refused = options.refused.clone();
    let mut refusals: Vec<Refusal> = refused.iter().map(Refusal::from).collect();
    let mut stacks = match (options.stacks, usercopy::why_no_stacks()) {
        (true, None) => UserStacks::Taken,
        (true, Some(why)) => UserStacks::Refused(why),
        (false, _) => UserStacks::Unwanted,
    };
    loop {
        // SAFETY: what an earlier attempt put there went away with its error.
        let place = unsafe { place.take() };
        let opened = open(place, relevant.as_ref()).map_err(LoadError::Broken)?;
        let error = match attempt(opened, options, &stacks, &refused, &tracepoint, &helpers) {
            Ok(loaded) => return Ok(Loaded { refusals, ..loaded }),
            Err(error) => error,
        };
        let forbidden =
            matches!(&error, LoadError::Refused(e) if e.kind() == ErrorKind::PermissionDenied);
        match refusal::take() {
            None if forbidden => return Err(LoadError::NotPermitted),
            // The verifier refuses with EACCES, too, but has words for it.
            Some(refusal) if forbidden && !refusal.verified => return Err(LoadError::NotPermitted),
            // It may take the program without what it does for stacks, which all else can do without.
            Some(refusal)
                if stacks == UserStacks::Taken && choice::takes_stacks(&refusal.program) =>
            {
                stacks = UserStacks::Refused(Refusal::reason(&refusal.program) + &refusal.words);
                refusals.push(refusal);
            }
            Some(refusal) if !refused.contains_key(&refusal.program) => {
                refused.insert(refusal.program.clone(), refusal.words.clone());
                refusals.push(refusal);
            }
            _ => return Err(error),
        }
    }
}

fn open(
    place: &'static mut MaybeUninit<OpenObject>,
    relevant: Option<&Relevant>,
) -> Result<OpenRecorderSkel<'static>, libbpf_rs::Error> {
    let mut builder = RecorderSkelBuilder::default();
    if let Some(relevant) = relevant {
        builder.obj_builder.btf_custom_path(relevant.path())?;
    }
    builder.open(place)
}

fn attempt(
    mut open: OpenRecorderSkel<'static>,
    options: &Options,
    stacks: &UserStacks,
    refused: &BTreeMap<String, String>,
    tracepoint: &dyn Fn(&str) -> Tracepoint,
    helpers: &Helpers,
) -> Result<Loaded, LoadError> {
    let mut choice = choice::choose(|program| tracepoint_of(&open, program), tracepoint, refused);
    choice.set_stacks(stacks);
    choice.set_statements(options.statements);
    let stacks = *stacks == UserStacks::Taken;
    if let Some(why) = choice.nothing() {
        return Err(LoadError::NoSensor(why));
    }
    for (program, helper) in choice::SYMBOLS {
        // Programs that user space calls came with sys_bpf (5.14).
        if helpers.has("sys_bpf") && helpers.has(helper) && !refused.contains_key(program) {
            choice.programs.insert(program);
        }
    }
    let layers = Stacks::read(Path::new("/sys"));
    choice.set_layers(layers.any);
    choice.apply(open.open_object_mut());
    let controller = options.group_controller;
    let controller = controller.map_or(-1, |name| helpers.controller(name).unwrap_or(-1));
    set_constants(&mut open, options, stacks, &choice, controller);
    let threads = &mut open.maps.threads;
    threads
        .set_autocreate(helpers.tasks())
        .map_err(LoadError::Broken)?;
    let by_address = &mut open.maps.threads_by_address;
    by_address
        .set_autocreate(!helpers.tasks())
        .map_err(LoadError::Broken)?;
    prepare_stacks(&mut open, stacks).map_err(LoadError::Broken)?;
    prepare_statements(&mut open, options.statements).map_err(LoadError::Broken)?;
    prepare_layers(&mut open, layers).map_err(LoadError::Broken)?;
    older::prepare(open.open_object_mut(), helpers, &options.spoil).map_err(LoadError::Refused)?;
    let skel = open.load().map_err(LoadError::Refused)?;
    Ok(Loaded {
        skel,
        choice,
        tasks: helpers.tasks(),
        stacks,
        refusals: Vec::new(),
    })
}

/// The tables for user stacks: none where none are taken, else two buffers for each CPU.
fn prepare_stacks(open: &mut OpenRecorderSkel<'_>, stacks: bool) -> Result<(), libbpf_rs::Error> {
    let maps = &mut open.maps;
    maps.stack_ring.set_autocreate(stacks)?;
    maps.sampled_places.set_autocreate(stacks)?;
    maps.sample_buffers.set_autocreate(stacks)?;
    let cpus = libbpf_rs::num_possible_cpus()?;
    let buffers = u32::try_from(cpus * 2).unwrap_or(u32::MAX);
    maps.sample_buffers.set_max_entries(buffers)
}

/// The tables for functions of databases: none where these are not probed.
fn prepare_statements(
    open: &mut OpenRecorderSkel<'_>,
    statements: bool,
) -> Result<(), libbpf_rs::Error> {
    let maps = &mut open.maps;
    maps.statement_scratches.set_autocreate(statements)?;
    maps.in_databases.set_autocreate(statements)?;
    maps.running_statements.set_autocreate(statements)
}

/// The tables for devices that lie on others: where there are none, they stay as small as can be.
fn prepare_layers(open: &mut OpenRecorderSkel<'_>, layers: Stacks) -> Result<(), libbpf_rs::Error> {
    /// Aligned blocks in flight, and bios that were remapped: a request above makes a few of each.
    const ROOM: u32 = 1 << 16;
    if !layers.any {
        return Ok(());
    }
    if let Some(rodata) = open.maps.rodata_data.as_mut() {
        rodata.stacked = true;
        rodata.stacked_major = layers.of_requests;
    }
    open.maps.places.set_max_entries(ROOM)?;
    open.maps.origins.set_max_entries(ROOM)
}

fn set_constants(
    open: &mut OpenRecorderSkel<'_>,
    options: &Options,
    stacks: bool,
    choice: &Choice,
    group_controller: i32,
) {
    let Some(rodata) = open.maps.rodata_data.as_mut() else {
        unreachable!("the programs have constants");
    };
    for (number, call, record) in calls::recorded() {
        let Call {
            fd,
            bytes,
            offset,
            written,
            flags,
            ..
        } = *call;
        let argument = |at: Option<u8>| at.map_or(-1, |at| at as i8);
        let shape = &mut rodata.calls[number];
        shape.kind = record as u8;
        shape.fd_arg = argument(fd);
        shape.bytes_arg = argument(bytes);
        shape.offset_arg = argument(offset);
        shape.written_arg = argument(written);
        shape.flags_arg = argument(flags);
    }
    for (number, call) in calls::known() {
        rodata.calls[number].how = calls::how(call);
    }
    rodata.take_stacks = stacks;
    rodata.whole_machine = options.whole_machine;
    rodata.by_group = options.by_group;
    if let Some(block) = options.block {
        rodata.block = block.number;
        rodata.block_tid = block.tid;
    }
    rodata.group_controller = group_controller;
    rodata.inner_pids = pids_are_inner();
    rodata.recorder_tgid = std::process::id();
    rodata.estimate_lookups = !choice.programs.contains("on_get_pages");
    rodata.no_io_start = !choice.programs.contains("on_io_start");
    rodata.direct_flag = libc::O_DIRECT as u32;
    rodata.page_shift = host::page_bytes().ilog2();
}

/// Whether this process is in a pid namespace below the machine's first.
fn pids_are_inner() -> bool {
    use std::os::unix::fs::MetadataExt;
    /// include/uapi/linux/nsfs.h, PID_NS_INIT_INO
    const FIRST: u64 = 0xeffffffc;
    std::fs::metadata("/proc/self/ns/pid").is_ok_and(|ours| ours.ino() != FIRST)
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use libbpf_rs::libbpf_sys::{bpf_insn, bpf_object__prepare};
    use libbpf_rs::AsRawLibbpf as _;

    use super::*;

    /// Load of 64 bits, in two instructions.
    const LOAD_64: u8 = 0x18;

    /// What each program does on this kernel, but for the descriptors of its maps.
    fn instructions(relevant: Option<&Relevant>) -> BTreeMap<String, Vec<(u8, u8, i16, i32)>> {
        let place = Box::leak(Box::new(MaybeUninit::uninit()));
        let mut open = open(place, relevant).unwrap();
        // SAFETY: the object is open and not loaded yet.
        let done =
            unsafe { bpf_object__prepare(open.open_object_mut().as_libbpf_object().as_ptr()) };
        assert_eq!(done, 0, "root is needed for this test");
        let programs = open.open_object().progs();
        programs
            .map(|program| {
                let mut of_map = false;
                let plain = |one: &bpf_insn| {
                    let is_load = one.code == LOAD_64;
                    let imm = if is_load || of_map { 0 } else { one.imm };
                    of_map = is_load;
                    (one.code, one.src_reg() << 4 | one.dst_reg(), one.off, imm)
                };
                let name = program.name().to_string_lossy().into_owned();
                (name, program.insns().iter().map(plain).collect())
            })
            .collect()
    }

    #[test]
    fn programs_are_the_same_by_the_relevant_types_as_by_all() {
        let Some(relevant) = Relevant::of_kernel() else {
            let is_loaded = |module| Path::new("/sys/kernel/btf").join(module).exists();
            assert!(choice::MODULES.into_iter().any(is_loaded));
            return;
        };
        let by_all = instructions(None);
        assert!(by_all.len() > 50);
        let by_relevant = instructions(Some(&relevant));
        for (name, all) in &by_all {
            assert_eq!(by_relevant.get(name), Some(all), "{name}");
        }
    }
}
