//! A block of a program, which says itself where it begins and ends (bpf/aside.h).

use std::ptr::addr_of;

use super::Probe;

/// What is known of it before it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// The thread that runs it.
    pub tid: u32,
    pub number: u64,
}

impl Probe {
    /// When the block began and ended, each 0 until it has.
    pub fn block(&self) -> (u64, u64) {
        let bss = self.bss();
        // SAFETY: as in `drain`; aligned 64-bit reads do not tear.
        unsafe {
            let began = addr_of!((*bss).block_began).read_volatile();
            (began, addr_of!((*bss).block_ended).read_volatile())
        }
    }
}
