//! The kernel's code in each process (man 7 vdso): of this process, as it is the same in all of one architecture.

/// Pages that it has at most; the kernel's own is two to four.
const MOST: usize = 16 * 4096;

/// Its memory; None where there is none.
pub fn memory() -> Option<Vec<u8>> {
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    let line = maps.lines().find(|line| line.ends_with("[vdso]"))?;
    let (start, end) = line.split(' ').next()?.split_once('-')?;
    let start = u64::from_str_radix(start, 16).ok()?;
    let end = u64::from_str_radix(end, 16).ok()?;
    let length = usize::try_from(end.checked_sub(start)?).ok()?.min(MOST);
    let memory = std::fs::File::open("/proc/self/mem").ok()?;
    let mut bytes = vec![0; length];
    std::os::unix::fs::FileExt::read_exact_at(&memory, &mut bytes, start).ok()?;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    #[test]
    fn it_is_an_elf_image_with_unwind_tables() {
        let memory = super::memory().unwrap();
        let elf = crate::elf::Elf::read(&memory[..]).unwrap();
        assert!(elf.eh_frame.is_some() && elf.build_id.is_some());
    }
}
