//! The recorder: eBPF programs, and what turns their records into a recording.

pub mod cache;
pub mod calibration;
pub mod calls;
pub mod collect;
mod databases;
mod disked;
pub mod event;
pub mod files;
mod first_maps;
pub mod groups;
pub mod identity;
pub mod kernel;
pub mod process;
pub mod rows;
pub mod session;
pub mod watch;

/// Made from bpf/recorder.bpf.c by build.rs.
#[allow(
    clippy::all,
    clippy::pedantic,
    dead_code,
    non_camel_case_types,
    non_snake_case
)]
mod skeleton {
    include!(concat!(env!("OUT_DIR"), "/recorder.skel.rs"));
}
