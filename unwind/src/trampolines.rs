//! CPython's trampolines: the piece of code that `python3 -X perf` writes for each function of a program, so that tools see it.
//!
//! On x86-64 those of 3.12 and 3.13 keep no frame pointer, and no table tells of them (Python/asm_trampoline.S). They are known by
//! their bytes alone, which say what of the stack lies below the address that they return to. Elsewhere, and later, they
//! keep frame pointers, as other code does that programs write.

use std::collections::HashMap;

use crate::modules::Served;

/// `sub $8,%rsp; call *%rcx; add $8,%rsp; ret`
const CODE: [u8; 11] = [0x48, 0x83, 0xec, 8, 0xff, 0xd1, 0x48, 0x83, 0xc4, 8, 0xc3];
/// What of the stack lies below the return address before each of these instructions.
const BELOW: [(u64, u64); 4] = [(0, 0), (4, 8), (6, 8), (10, 0)];
/// A trampoline does not reach from page to page: it begins at a multiple of sixteen bytes.
/// This is a page of x86_64; elsewhere nothing is asked.
const PAGE: u64 = 4096;
/// Pages that are remembered.
const PAGES_MOST: usize = 16_384;

/// Where there are trampolines, by module and page: remembered, as a process is often gone before its last stacks are looked at.
#[derive(Default)]
pub struct Trampolines {
    pages: HashMap<(u32, u64), Vec<u16>>,
}

impl Trampolines {
    /// How far above the stack pointer the return address lies; None where at `address` is no trampoline.
    pub fn return_at(
        &mut self,
        module: u32,
        served: &mut dyn Served,
        tgid: u32,
        address: u64,
    ) -> Option<u64> {
        if !cfg!(target_arch = "x86_64") {
            return None;
        }
        let within = address % PAGE;
        let page = address - within;
        if self.pages.len() >= PAGES_MOST {
            self.pages.clear();
        }
        let starts = self.pages.entry((module, page)).or_insert_with(|| {
            let memory = served.process_file(tgid, "mem", page, PAGE);
            starts(&memory.unwrap_or_default())
        });
        starts.iter().find_map(|&start| {
            let into = within.checked_sub(start.into())?;
            let at = BELOW.iter().find(|(at, _)| *at == into)?;
            Some(at.1)
        })
    }

    /// Other code is written there.
    pub fn forget(&mut self, module: u32) {
        self.pages.retain(|(known, _), _| *known != module);
    }
}

fn starts(memory: &[u8]) -> Vec<u16> {
    let found = memory.windows(CODE.len()).enumerate();
    (found.filter(|(_, code)| *code == CODE))
        .filter_map(|(at, _)| u16::try_from(at).ok())
        .collect()
}
