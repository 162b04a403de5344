//! What older kernels lack (bpf/older.h): which helpers a kernel has, and programs that its parser takes.

use std::collections::{HashMap, HashSet};
use std::ffi::CStr;

use libbpf_rs::btf::types::Enum;
use libbpf_rs::btf::Btf;
use libbpf_rs::libbpf_sys::{
    bpf_insn, bpf_object__next_program, bpf_object__prepare, bpf_program__autoload,
    bpf_program__insn_cnt, bpf_program__insns, bpf_program__name, bpf_program__set_insns,
};
use libbpf_rs::{AsRawLibbpf, OpenObject};

/// Load of 64 bits, and the source that makes it the address of a function (include/uapi/linux/bpf.h).
const LOAD_64: u8 = 0x18;
const PSEUDO_FUNC: u8 = 4;
/// Atomic operations of both widths: the class and the mode of the instruction's code.
const ATOMIC: u8 = 0xc3;
const WITHOUT_WIDTH: u8 = 0xe7;
/// `r0 = r0`
const NOTHING: u8 = 0xbf;
/// The end of a program, before which it must have a result.
const EXIT: u8 = 0x95;

/// The helpers of programs that the kernel has, as its types name them, without BPF_FUNC_.
pub struct Helpers {
    names: HashSet<String>,
    /// Places of the controllers in css_set.subsys, by their names.
    controllers: HashMap<String, i32>,
}

impl Helpers {
    pub fn new(btf: &Btf<'_>) -> Helpers {
        let known = btf.type_by_name::<Enum<'_>>("bpf_func_id");
        let names = known.iter().flat_map(|known| {
            known
                .iter()
                .filter_map(|member| member.name?.to_str()?.strip_prefix("BPF_FUNC_"))
                .map(str::to_owned)
                .collect::<Vec<_>>()
        });
        Helpers {
            names: names.collect(),
            controllers: controllers(btf),
        }
    }

    pub fn has(&self, helper: &str) -> bool {
        self.names.contains(helper)
    }

    /// The place of a controller of control groups (enum cgroup_subsys_id).
    pub fn controller(&self, name: &str) -> Option<i32> {
        self.controllers.get(name).copied()
    }

    /// Threads are in the storage of their tasks (5.13, as this helper: 5.11 has such storage, but not for these programs).
    pub fn tasks(&self) -> bool {
        self.has("for_each_map_elem")
    }

    /// Programs may hand functions to helpers that they use (5.17, as this helper).
    fn takes_functions(&self) -> bool {
        self.has("loop")
    }
}

fn controllers(btf: &Btf<'_>) -> HashMap<String, i32> {
    let known = btf.type_by_name::<Enum<'_>>("cgroup_subsys_id");
    let members = known.iter().flat_map(|known| {
        known
            .iter()
            .filter_map(|member| {
                let name = member.name?.to_str()?.strip_suffix("_cgrp_id")?;
                Some((name.to_owned(), i32::try_from(member.value).ok()?))
            })
            .collect::<Vec<_>>()
    });
    members.collect()
}

/// Takes out of the programs what the parser of an older kernel refuses even in a branch that is never taken. The
/// branches with such instructions are for other kernels: the verifier, which comes after, has cut none of them yet.
/// Before 5.13 that are the addresses of functions, and atomic operations that give the old value. Kernels up to 5.16
/// know these addresses, but may take one function for another, and refuse that where the compiler puts one before its
/// branch; no helper that would take one is there. Programs to `spoil` no kernel takes (for tests).
pub fn prepare(
    object: &mut OpenObject,
    helpers: &Helpers,
    spoil: &[String],
) -> Result<(), libbpf_rs::Error> {
    if helpers.takes_functions() && spoil.is_empty() {
        return Ok(());
    }
    let has_atomics = helpers.has("check_mtu");
    let object = object.as_libbpf_object().as_ptr();
    // SAFETY: the object is open and not loaded yet; preparing it settles its instructions.
    let done = unsafe { bpf_object__prepare(object) };
    if done != 0 {
        return Err(libbpf_rs::Error::from_raw_os_error(-done));
    }
    let mut program = std::ptr::null_mut();
    loop {
        // SAFETY: `program` is null or one of this object's.
        program = unsafe { bpf_object__next_program(object, program) };
        if program.is_null() {
            return Ok(());
        }
        // SAFETY: as above; the instructions belong to the program, which copies what it is given before it frees them.
        let done = unsafe {
            if !bpf_program__autoload(program) {
                continue;
            }
            let count = bpf_program__insn_cnt(program);
            let given = std::slice::from_raw_parts(bpf_program__insns(program), count as usize);
            let mut taken: Vec<bpf_insn> = given
                .iter()
                .map(|&instruction| match helpers.takes_functions() {
                    true => instruction,
                    false => plain(instruction, has_atomics),
                })
                .collect();
            let name = CStr::from_ptr(bpf_program__name(program));
            if spoil.iter().any(|one| name.to_bytes() == one.as_bytes()) {
                taken[0].code = EXIT;
            }
            bpf_program__set_insns(program, taken.as_mut_ptr(), count)
        };
        if done != 0 {
            return Err(libbpf_rs::Error::from_raw_os_error(-done));
        }
    }
}

fn plain(mut instruction: bpf_insn, has_atomics: bool) -> bpf_insn {
    if instruction.code == LOAD_64 && instruction.src_reg() == PSEUDO_FUNC {
        instruction.set_src_reg(0);
        instruction.imm = 0;
    } else if !has_atomics && instruction.code & WITHOUT_WIDTH == ATOMIC && instruction.imm != 0 {
        instruction = bpf_insn {
            code: NOTHING,
            ..bpf_insn::default()
        };
    }
    instruction
}
