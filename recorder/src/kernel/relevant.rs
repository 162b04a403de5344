//! The kernel's types as far as the programs name them.
//!
//! libbpf walks all types of the kernel for each type that a program names (bpf_core_add_cands in tools/lib/bpf/libbpf.c):
//! 80 times some 125,000, which is a quarter of what loading takes. Two thirds of them are functions, and nearly all of
//! the rest nobody names. Here is a copy without them. Types keep their numbers, as programs ask for those, too
//! (bpf_core_type_id_kernel), and stay in the kernel's order (Documentation/bpf/btf.rst).

use std::collections::HashSet;
use std::fs::File;
use std::io::Write as _;
use std::os::fd::AsRawFd as _;
use std::path::PathBuf;

use nix::sys::memfd::{memfd_create, MFdFlags};

use super::{choice, tracepoints};

/// What the programs name, of all kernels that they are for.
pub const NAMED: &[&str] = include!(concat!(env!("OUT_DIR"), "/relocated.rs"));

const MAGIC: u16 = 0xeb9f;
const HEADER_BYTES: usize = 24;
const TYPE_BYTES: usize = 12;
/// What stands in the place of a type that is left out: a structure that is declared, without a name.
const LEFT_OUT: [u32; 3] = [0, kind::FORWARD << 24, 0];

/// Kinds of types (include/uapi/linux/btf.h).
mod kind {
    pub const INTEGER: u32 = 1;
    pub const POINTER: u32 = 2;
    pub const ARRAY: u32 = 3;
    pub const STRUCT: u32 = 4;
    pub const UNION: u32 = 5;
    pub const ENUM: u32 = 6;
    pub const FORWARD: u32 = 7;
    pub const TYPEDEF: u32 = 8;
    pub const VOLATILE: u32 = 9;
    pub const CONST: u32 = 10;
    pub const RESTRICT: u32 = 11;
    pub const FUNCTION: u32 = 12;
    pub const PROTOTYPE: u32 = 13;
    pub const VARIABLE: u32 = 14;
    pub const SECTION: u32 = 15;
    pub const FLOAT: u32 = 16;
    pub const DECLARATION_TAG: u32 = 17;
    pub const TYPE_TAG: u32 = 18;
    pub const ENUM_64: u32 = 19;
}

/// A copy in a file of memory; None: the kernel's own has to be asked.
pub struct Relevant(File);

impl Relevant {
    /// Of the running kernel. None, too, where a module has what the kernel itself lacks: libbpf looks into modules only
    /// beside the kernel's own types.
    pub fn of_kernel() -> Option<Relevant> {
        let types = std::fs::read("/sys/kernel/btf/vmlinux").ok()?;
        let found = relevant(&types, NAMED)?;
        let in_module = |name: &&str| {
            let name = format!("\0{name}\0");
            choice::MODULES
                .iter()
                .any(|module| tracepoints::is_in(module, &name))
        };
        if found.missing.iter().any(in_module) {
            return None;
        }
        let file = memfd_create(c"types", MFdFlags::MFD_CLOEXEC).ok()?;
        let mut file = File::from(file);
        file.write_all(&found.bytes).ok()?;
        Some(Relevant(file))
    }

    /// Where it can be opened while this lives.
    pub fn path(&self) -> PathBuf {
        format!("/proc/self/fd/{}", self.0.as_raw_fd()).into()
    }
}

/// What was found of the named types.
#[derive(Debug, PartialEq, Eq)]
pub struct Found<'a> {
    /// Type information in the kernel's format.
    pub bytes: Vec<u8>,
    /// Names that no type has.
    pub missing: Vec<&'a str>,
}

/// The named types and what lies inside them; pointers point to nothing. None where `types` has something that is not known
/// here.
pub fn relevant<'a>(types: &[u8], named: &[&'a str]) -> Option<Found<'a>> {
    let all = Types::read(types)?;
    let wanted: HashSet<&[u8]> = named.iter().map(|name| name.as_bytes()).collect();
    let mut seen = HashSet::new();
    let mut kept = vec![false; all.begins.len()];
    let mut open = Vec::new();
    for (at, &begin) in all.begins.iter().enumerate() {
        if !has_layout(all.kind(begin)?) {
            continue;
        }
        let name = all.name(begin)?;
        if wanted.contains(name) {
            seen.insert(name);
            open.push(at);
        }
    }
    while let Some(at) = open.pop() {
        if !std::mem::replace(kept.get_mut(at)?, true) {
            all.inside(*all.begins.get(at)?, &mut open)?;
        }
    }
    let is_missing = |name: &&&str| !seen.contains(name.as_bytes());
    Some(Found {
        bytes: all.copy(&kept)?,
        missing: named.iter().filter(is_missing).copied().collect(),
    })
}

/// Whether programs can name a type of this kind.
fn has_layout(kind: u32) -> bool {
    matches!(
        kind,
        kind::INTEGER
            | kind::STRUCT
            | kind::UNION
            | kind::ENUM
            | kind::TYPEDEF
            | kind::FLOAT
            | kind::ENUM_64
    )
}

/// Type information as it lies in memory.
struct Types<'a> {
    types: &'a [u8],
    names: &'a [u8],
    /// Where each type begins; the first has the number 1.
    begins: Vec<usize>,
}

impl<'a> Types<'a> {
    fn read(bytes: &'a [u8]) -> Option<Types<'a>> {
        if u16::from_ne_bytes(bytes.get(..2)?.try_into().ok()?) != MAGIC {
            return None;
        }
        let header = word(bytes, 4)?;
        let section = |at: usize| {
            let begin = header.checked_add(word(bytes, at)?)?;
            bytes.get(begin..begin.checked_add(word(bytes, at + 4)?)?)
        };
        let (types, names) = (section(8)?, section(16)?);
        let (mut at, mut begins) = (0, Vec::new());
        while at < types.len() {
            begins.push(at);
            at += TYPE_BYTES + rest_of(word(types, at + 4)? as u32)?;
        }
        Some(Types {
            types,
            names,
            begins,
        })
    }

    fn kind(&self, begin: usize) -> Option<u32> {
        Some(kind_of(word(self.types, begin + 4)? as u32))
    }

    fn name(&self, begin: usize) -> Option<&'a [u8]> {
        let name = self.names.get(word(self.types, begin)?..)?;
        name.split(|&byte| byte == 0).next()
    }

    /// Adds the places in `begins` of what a type is made of.
    fn inside(&self, begin: usize, open: &mut Vec<usize>) -> Option<()> {
        let info = word(self.types, begin + 4)?;
        let mut add = |at: usize| {
            // Number 0 is void.
            if let Some(place) = word(self.types, at)?.checked_sub(1) {
                open.push(place);
            }
            Some(())
        };
        match kind_of(info as u32) {
            kind::ARRAY => {
                add(begin + TYPE_BYTES)?;
                add(begin + TYPE_BYTES + 4)
            }
            kind::STRUCT | kind::UNION => {
                (0..info & 0xffff).try_for_each(|member| add(begin + TYPE_BYTES + member * 12 + 4))
            }
            kind::TYPEDEF | kind::VOLATILE | kind::CONST | kind::RESTRICT | kind::TYPE_TAG => {
                add(begin + 8)
            }
            kind::INTEGER
            | kind::POINTER
            | kind::ENUM
            | kind::ENUM_64
            | kind::FORWARD
            | kind::FLOAT => Some(()),
            // Nothing is made of functions and variables.
            _ => None,
        }
    }

    /// The kept ones as they are, up to the last; others are only declared.
    fn copy(&self, kept: &[bool]) -> Option<Vec<u8>> {
        let mut types = Vec::new();
        let last = kept.iter().rposition(|&kept| kept)?;
        for (at, &begin) in self.begins.iter().enumerate().take(last + 1) {
            if !*kept.get(at)? {
                types.extend(LEFT_OUT.into_iter().flat_map(u32::to_ne_bytes));
                continue;
            }
            let end = self.begins.get(at + 1).copied();
            let own = self.types.get(begin..end.unwrap_or(self.types.len()))?;
            let to = types.len();
            types.extend_from_slice(own);
            if self.kind(begin)? == kind::POINTER {
                types.get_mut(to + 8..)?.fill(0);
            }
        }
        let mut bytes = Vec::with_capacity(HEADER_BYTES + types.len() + self.names.len());
        bytes.extend(MAGIC.to_ne_bytes());
        bytes.extend([1, 0]);
        let (types_bytes, names_bytes) = (types.len() as u32, self.names.len() as u32);
        let places = [
            HEADER_BYTES as u32,
            0,
            types_bytes,
            types_bytes,
            names_bytes,
        ];
        bytes.extend(places.into_iter().flat_map(u32::to_ne_bytes));
        bytes.extend(types);
        bytes.extend_from_slice(self.names);
        Some(bytes)
    }
}

fn word(bytes: &[u8], at: usize) -> Option<usize> {
    let four = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_ne_bytes(four.try_into().ok()?) as usize)
}

fn kind_of(info: u32) -> u32 {
    info >> 24 & 0x1f
}

/// Bytes that follow a type's head; None for a kind that is not known.
fn rest_of(info: u32) -> Option<usize> {
    let count = (info & 0xffff) as usize;
    Some(match kind_of(info) {
        kind::INTEGER | kind::VARIABLE | kind::DECLARATION_TAG => 4,
        kind::ARRAY => 12,
        kind::STRUCT | kind::UNION | kind::SECTION | kind::ENUM_64 => count * 12,
        kind::ENUM | kind::PROTOTYPE => count * 8,
        kind::POINTER
        | kind::FORWARD
        | kind::TYPEDEF
        | kind::VOLATILE
        | kind::CONST
        | kind::RESTRICT
        | kind::FUNCTION
        | kind::FLOAT
        | kind::TYPE_TAG => 0,
        _ => return None,
    })
}
