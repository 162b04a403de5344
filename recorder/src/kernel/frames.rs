//! The kernel's stacks: of waits by their numbers, of samples on a CPU by their addresses.

use std::os::fd::AsFd;

use anyhow::Result;
use libbpf_rs::{MapCore, MapFlags, MapHandle};

use super::{Probe, Symbols};

impl Probe {
    /// The kernel stacks that waits name.
    pub fn stacks(&self) -> Result<Stacks> {
        let program = &self.skel.progs.name_function;
        let symbols = if program.autoload() {
            let program = program.as_fd().try_clone_to_owned()?;
            Symbols::ask(program, MapHandle::try_from(&*self.skel.maps.symbols)?)
        } else {
            Symbols::listed()
        };
        Ok(Stacks {
            map: MapHandle::try_from(&*self.skel.maps.stacks)?,
            symbols,
        })
    }
}

/// Kernel stacks by their ids.
pub struct Stacks {
    map: MapHandle,
    symbols: Symbols,
}

impl Stacks {
    /// The functions of a stack, innermost first.
    pub fn read(&mut self, id: i32) -> Vec<String> {
        let found = self.map.lookup(&id.to_ne_bytes(), MapFlags::ANY);
        let bytes = found.ok().flatten().unwrap_or_default();
        bytes
            .chunks_exact(8)
            .filter_map(|chunk| chunk.try_into().ok().map(u64::from_ne_bytes))
            .take_while(|&address| address != 0)
            .map(|address| self.symbols.name(address))
            .collect()
    }

    /// The functions at these addresses.
    pub fn names(&mut self, addresses: &[u64]) -> Vec<String> {
        addresses
            .iter()
            .map(|&address| self.symbols.name(address))
            .collect()
    }
}
