//! What programs in the kernel have cost, by its own count.

use std::ffi::c_void;
use std::os::fd::{AsFd, AsRawFd};
use std::path::Path;
use std::ptr::addr_of_mut;

use anyhow::{Context, Result};
use libbpf_rs::libbpf_sys::{bpf_obj_get_info_by_fd, bpf_prog_info};

/// What a program has cost, by the kernel's own count.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Cost {
    pub name: String,
    pub runs: u64,
    pub ns: u64,
    /// Times that it was not run because it was running already.
    pub missed: u64,
}

/// What each loaded program of an object has cost so far.
pub fn costs_of(object: &libbpf_rs::Object) -> Vec<Cost> {
    let programs = object.progs().filter(|p| p.autoload());
    programs
        .filter_map(|program| {
            let mut info = bpf_prog_info::default();
            let mut size = size_of_val(&info) as u32;
            // SAFETY: `info` is plain data of `size` bytes; its pointers are null, so that the kernel
            // fills in numbers alone.
            let done = unsafe {
                bpf_obj_get_info_by_fd(
                    program.as_fd().as_raw_fd(),
                    addr_of_mut!(info).cast::<c_void>(),
                    &mut size,
                )
            };
            (done == 0).then(|| Cost {
                name: program.name().to_string_lossy().into_owned(),
                runs: info.run_cnt,
                ns: info.run_time_ns,
                missed: info.recursion_misses,
            })
        })
        .collect()
}

/// `[{"name", "runs", "ns", "missed"}, …]`, to a file.
pub fn write_costs(costs: &[Cost], path: &Path) -> Result<()> {
    let json = serde_json::to_vec(costs)?;
    std::fs::write(path, json).with_context(|| path.display().to_string())
}
