//! Names of the kernel's functions, asked of the kernel (bpf/symbols.h).

use std::collections::HashMap;
use std::os::fd::{AsFd, OwnedFd};

use anyhow::{ensure, Context, Result};
use libbpf_rs::{MapCore, MapFlags, MapHandle};

use super::run_once;
use crate::event::layout::Symbol;
use crate::event::{self};

/// Names functions by their addresses; each is asked for once.
pub struct Symbols {
    program: OwnedFd,
    map: MapHandle,
    names: HashMap<u64, String>,
}

impl Symbols {
    pub(super) fn new(program: OwnedFd, map: MapHandle) -> Symbols {
        Symbols {
            program,
            map,
            names: HashMap::new(),
        }
    }

    /// The function that holds the address, without its module; the address where the kernel knows none.
    pub fn name(&mut self, address: u64) -> String {
        if let Some(name) = self.names.get(&address) {
            return name.clone();
        }
        let name = self
            .ask(address)
            .unwrap_or_else(|_| format!("{address:#x}"));
        self.names.insert(address, name.clone());
        name
    }

    fn ask(&self, address: u64) -> Result<String> {
        let mut value = vec![0; size_of::<Symbol>()];
        value[..8].copy_from_slice(&address.to_ne_bytes());
        self.map.update(&[0; 4], &value, MapFlags::ANY)?;
        run_once(self.program.as_fd())?;
        let value = self.map.lookup(&[0; 4], MapFlags::ANY)?;
        let symbol: Symbol = value
            .as_deref()
            .and_then(event::read)
            .context("no answer")?;
        let end = symbol
            .name
            .iter()
            .position(|&b| b == 0)
            .unwrap_or(symbol.name.len());
        let name = String::from_utf8_lossy(&symbol.name[..end]);
        let name = name.split(' ').next().unwrap_or_default();
        ensure!(
            !name.is_empty() && !name.starts_with("0x"),
            "no function is there"
        );
        Ok(name.to_owned())
    }
}
