//! The agent's half in the kernel, and the recordings that it makes of it: counts and histograms by control group, device
//! and what was done, summed up in the kernel, a row for each of them and interval. No event is written one by one.

mod choice;
mod folder;
mod groups;
mod histogram;
mod interval;
mod levels;
mod places;
mod programs;
mod session;
mod sink;

pub use session::{run, Request};

/// Made from bpf/agent.bpf.c by build.rs.
#[allow(
    clippy::all,
    clippy::pedantic,
    dead_code,
    non_camel_case_types,
    non_snake_case
)]
mod skeleton {
    include!(concat!(env!("OUT_DIR"), "/agent.skel.rs"));
}
