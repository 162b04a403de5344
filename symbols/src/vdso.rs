//! The code that the kernel maps into each process (man 7 vdso): ours is the same as theirs, of one architecture.

use std::fs;
use std::os::unix::fs::FileExt;

use crate::elf::Elf;
use crate::room::Room;

/// More than any kernel maps.
const MAX_BYTES: u64 = 1 << 20;

/// The memory of our own; None where there is none.
pub fn memory() -> Option<Vec<u8>> {
    let maps = fs::read_to_string("/proc/self/maps").ok()?;
    let line = maps.lines().find(|line| line.ends_with("[vdso]"))?;
    let (start, end) = line.split_once(' ')?.0.split_once('-')?;
    let start = u64::from_str_radix(start, 16).ok()?;
    let length = u64::from_str_radix(end, 16).ok()?.checked_sub(start)?;
    let memory = fs::File::open("/proc/self/mem").ok()?;
    let mut bytes = vec![0; length.min(MAX_BYTES) as usize];
    memory.read_exact_at(&mut bytes, start).ok()?;
    Some(bytes)
}

/// Our own, where it has that build id; None wants any.
pub fn own(build_id: Option<&str>) -> Option<Elf> {
    let elf = Elf::of_bytes(memory()?, &Room::new())?;
    match build_id {
        Some(wanted) if elf.build_id().as_deref() != Some(wanted) => None,
        _ => Some(elf),
    }
}
