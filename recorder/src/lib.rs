//! The recorder: eBPF programs, and what turns their records into a recording.

pub mod cache;
pub mod calls;
pub mod collect;
pub mod event;
pub mod files;
pub mod filesystem;
pub mod parent;
pub mod probe;
pub mod reasons;
pub mod request;
pub mod sensors;
pub mod session;
pub mod signals;
pub mod spawn;
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
