//! The code of one file, unwound at the addresses that the file states: so what was found for an address serves all
//! processes that map it.

use framehop::{
    CacheNative, ExplicitModuleSectionInfo, FrameAddress, MayAllocateDuringUnwind, Module,
    UnwindRegsNative, Unwinder as _, UnwinderNative,
};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::Arc;

use crate::elf::{Bytes, Elf};

type Tables = Arc<[u8]>;

/// The code of one file, or of memory without one: then frame pointers are followed.
pub struct Image {
    pub elf: Elf,
    unwinder: UnwinderNative<Tables, MayAllocateDuringUnwind>,
    cache: CacheNative<MayAllocateDuringUnwind>,
}

/// What a frame was called by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caller {
    /// The address to which it returns.
    At(u64),
    /// Nothing: it is the first frame of its thread.
    None,
    /// It could not be found.
    Unknown,
}

impl Image {
    /// An image without tables.
    pub fn bare() -> Image {
        Image::of(Elf::default())
    }

    /// None where it is no ELF file. `most`: bytes of its tables.
    pub fn read(file: &(impl Bytes + ?Sized), most: u64) -> Option<Image> {
        let read = AssertUnwindSafe(|| Elf::read(file, most).map(Image::of));
        catch_unwind(read).ok()?
    }

    fn of(elf: Elf) -> Image {
        let mut unwinder = UnwinderNative::new();
        let base = elf.base();
        let (eh_frame, hdr) = (elf.eh_frame.clone(), elf.eh_frame_hdr.clone());
        let sections = ExplicitModuleSectionInfo {
            base_svma: base,
            eh_frame_svma: eh_frame.as_ref().map(|table| table.addresses.clone()),
            eh_frame: eh_frame.map(|table| table.bytes),
            eh_frame_hdr_svma: hdr.as_ref().map(|table| table.addresses.clone()),
            eh_frame_hdr: hdr.map(|table| table.bytes),
            debug_frame: elf.debug_frame.clone(),
            ..ExplicitModuleSectionInfo::default()
        };
        unwinder.add_module(Module::new(String::new(), base..u64::MAX, base, sections));
        Image {
            elf,
            unwinder,
            cache: CacheNative::new(),
        }
    }

    /// Steps from the frame at `address` (as the file states it; `first`: it is the innermost one) to its caller.
    pub fn step(
        &mut self,
        address: u64,
        first: bool,
        registers: &mut UnwindRegsNative,
        read: &mut dyn FnMut(u64) -> Option<u64>,
    ) -> Caller {
        let frame = match first {
            true => Some(FrameAddress::from_instruction_pointer(address)),
            false => FrameAddress::from_return_address(address),
        };
        let Some(frame) = frame else {
            return Caller::Unknown;
        };
        let mut read = |address| read(address).ok_or(());
        let (unwinder, cache) = (&mut self.unwinder, &mut self.cache);
        // What is damaged in a way that the library did not foresee costs its own frames.
        let found = catch_unwind(AssertUnwindSafe(|| {
            unwinder.unwind_frame(frame, registers, cache, &mut read)
        }));
        match found {
            Ok(Ok(Some(0) | None)) => Caller::None,
            Ok(Ok(Some(address))) => Caller::At(address),
            Ok(Err(_)) | Err(_) => Caller::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn tables_for_which_there_is_no_room_are_not_there() {
        let memory = iowhy_symbols::vdso_memory().unwrap();
        let whole = Elf::read(&memory[..], u64::MAX).unwrap().table_bytes();
        assert!(whole > 0);
        for most in [0, 1, whole - 1, whole] {
            let elf = Elf::read(&memory[..], most).unwrap();
            assert!(elf.table_bytes() <= most);
            assert_eq!(elf.table_bytes() == whole, most == whole);
        }
    }

    /// gimli takes the one place off the other without a look at which is greater.
    #[test]
    fn a_table_that_points_before_the_first_frame_costs_its_own_frames_at_most() {
        let mut memory = iowhy_symbols::vdso_memory().unwrap();
        let elf = Elf::read(&memory[..], u64::MAX).unwrap();
        let pointer = elf.eh_frame_hdr.unwrap().addresses.start as usize + 4;
        memory[pointer..pointer + 4].copy_from_slice(&i32::MAX.to_le_bytes());
        let mut image = Image::read(&memory[..], u64::MAX).unwrap();
        for address in (0..0x2000).step_by(16) {
            let mut registers = crate::registers(&crate::Registers::default());
            image.step(address, true, &mut registers, &mut |_| None);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]

        /// The kernel's own image, damaged: whatever it says by then, it is read and unwound without an end of the process.
        #[test]
        fn a_damaged_file_costs_its_own_frames_at_most(
            damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..64),
            cut in any::<prop::sample::Index>(),
            at in 0..0x2000_u64,
        ) {
            let mut memory = iowhy_symbols::vdso_memory().unwrap();
            for (place, byte) in &damage {
                let place = place.index(memory.len());
                memory[place] = *byte;
            }
            for bytes in [&memory[..], &memory[..cut.index(memory.len())]] {
                let Some(mut image) = Image::read(bytes, u64::MAX) else {
                    continue;
                };
                let registers = crate::Registers { ip: at, sp: 0x1000, fp: 0x1010, lr: 0x20 };
                let mut registers = crate::registers(&registers);
                for step in 0..64 {
                    let mut read = |address: u64| (address < 0x3000).then_some(address.wrapping_mul(3) & 0x1fff);
                    image.step((at + step * 37) & 0x1fff, step == 0, &mut registers, &mut read);
                }
            }
        }
    }
}
