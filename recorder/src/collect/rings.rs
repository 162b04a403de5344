//! Numbers of the rings (io_uring) and contexts (libaio) that calls reap from, and requests are submitted through.

use std::collections::HashMap;

use crate::event::{layout, Call};

/// Rings that are numbered; of more than these it is not known which is which.
const MOST: usize = 65_536;

/// A ring is an address in the kernel, a context one in its own process: from here on addresses are the kernel's.
const KERNEL: u64 = 1 << 63;

/// Numbers in the order in which they were first seen, from 1. One that is made at the address of one that is gone has
/// its number.
#[derive(Debug, Default)]
pub struct Rings {
    numbers: HashMap<(u32, u64), i64>,
}

impl Rings {
    /// The number of the ring at `address` of process `tgid`; None where there is none.
    pub fn of(&mut self, tgid: u32, address: u64) -> Option<i64> {
        if address == 0 {
            return None;
        }
        let key = (if address < KERNEL { tgid } else { 0 }, address);
        if let Some(number) = self.numbers.get(&key) {
            return Some(*number);
        }
        let next = self.numbers.len() as i64 + 1;
        (self.numbers.len() < MOST).then(|| *self.numbers.entry(key).or_insert(next))
    }

    /// The number of the ring of a call.
    pub fn of_call(&mut self, call: &Call) -> Option<i64> {
        match call.header.flags & layout::CALL_HAS_RING {
            0 => None,
            _ => self.of(call.tgid, call.offset),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_is_one_for_all_processes_and_a_context_for_its_own() {
        let mut rings = Rings::default();
        let ring = 0xffff_8880_0000_1000;
        let asked = [
            (1, ring),
            (2, ring),
            (1, 0x7f00),
            (2, 0x7f00),
            (1, 0x7f00),
            (1, 0),
        ];
        let found = asked.map(|(tgid, address)| rings.of(tgid, address));
        assert_eq!(found, [Some(1), Some(1), Some(2), Some(3), Some(2), None]);
    }

    #[test]
    fn of_a_call_only_a_ring_has_a_number() {
        let mut call = Call {
            tgid: 1,
            offset: 4096,
            ..Call::default()
        };
        assert_eq!(Rings::default().of_call(&call), None);
        call.header.flags = layout::CALL_HAS_RING;
        assert_eq!(Rings::default().of_call(&call), Some(1));
    }
}
