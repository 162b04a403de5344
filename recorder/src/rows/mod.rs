//! Rows of the recording, one module for each kind of record.
//!
//! A record that needs nothing but itself to become a row is converted by `row` of the module of its name; a sensor
//! names it in sensors.toml, and build/sources.rs adds the module here.

use std::borrow::Cow;
use std::sync::OnceLock;

use iowhy_store::Recording;
use iowhy_store::{Name, Result};

use crate::event::layout;
use crate::identity::{identified, Identities};

pub mod call;
pub mod kernel_time;
pub mod operation;
pub mod own_cost;
pub mod request;
pub mod thread;

include!(concat!(env!("OUT_DIR"), "/rows.rs"));

/// The names of the bits that are set.
fn names_of(bits: u8, names: &[(u8, &'static str)]) -> Vec<Name> {
    let set = names.iter().filter(|(bit, _)| bits & bit != 0);
    set.map(|(_, name)| Cow::Borrowed(*name)).collect()
}

/// The kernel's ticks (jiffies) as nanoseconds.
fn ticks_ns(ticks: u64) -> i64 {
    (ticks as i64).saturating_mul(tick_ns())
}

/// Length of a tick (1/CONFIG_HZ): the resolution of the clock that only ticks advance.
pub fn tick_ns() -> i64 {
    static TICK: OnceLock<i64> = OnceLock::new();
    *TICK.get_or_init(|| {
        let coarse = nix::time::ClockId::from_raw(libc::CLOCK_MONOTONIC_COARSE);
        nix::time::clock_getres(coarse)
            .map_or(4_000_000, |r| r.tv_sec() * 1_000_000_000 + r.tv_nsec())
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_tick_is_between_a_tenth_and_ten_milliseconds() {
        assert!((100_000..=10_000_000).contains(&super::tick_ns()));
    }
}
