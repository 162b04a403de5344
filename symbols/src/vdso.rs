//! The code that the kernel maps into each process: ours is the same as theirs.

use std::fs;
use std::io::{Read, Seek, SeekFrom};

use crate::elf::Elf;

/// More than any kernel maps.
const MAX_BYTES: u64 = 1 << 20;

/// Our own, where it has that build id; None wants any.
pub fn own(build_id: Option<&str>) -> Option<Elf> {
    let maps = fs::read_to_string("/proc/self/maps").ok()?;
    let line = maps.lines().find(|line| line.ends_with("[vdso]"))?;
    let (start, end) = line.split_once(' ')?.0.split_once('-')?;
    let start = u64::from_str_radix(start, 16).ok()?;
    let length = u64::from_str_radix(end, 16).ok()?.checked_sub(start)?;
    let mut memory = fs::File::open("/proc/self/mem").ok()?;
    memory.seek(SeekFrom::Start(start)).ok()?;
    let mut bytes = vec![0; length.min(MAX_BYTES) as usize];
    memory.read_exact(&mut bytes).ok()?;
    let elf = Elf::of_bytes(bytes)?;
    match build_id {
        Some(wanted) if elf.build_id().as_deref() != Some(wanted) => None,
        _ => Some(elf),
    }
}
