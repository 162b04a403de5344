//! The events of all packets in the order of time.
//!
//! Each CPU's events come in packets of their own, which overlap. A packet is decoded when the time comes that its
//! first event has; how much is in memory follows from how many packets overlap.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::bundle::{entries, Entry};
use super::packets::{content, inner, unpack, Content, Place};
use super::wire::Malformed;
use crate::error::{Error, Result};

/// Events of overlapping packets that are in memory at once: more are hostile (they take 0.4 GB).
const EVENTS: usize = 8_000_000;

/// A packet with events.
pub struct Unit {
    /// The time of its earliest event.
    pub first_ns: i64,
    /// Its number in the file.
    pub number: u64,
    pub place: Place,
}

/// A packet whose events are being taken: the bytes that they are in, and what is left of them, in order.
pub struct Open<'a> {
    pub buffer: Cow<'a, [u8]>,
    pub left: std::vec::IntoIter<Entry>,
}

/// Decode a packet's events, of all packets in it if it is a compressed one.
pub fn open<'a>(whole: &'a [u8], unit: &Unit) -> Result<Open<'a>> {
    let malformed = |_: Malformed| undecodable(unit.number);
    let packet = &whole[unit.place.start..unit.place.end];
    let mut found = Vec::new();
    let buffer = match content(packet).map_err(malformed)? {
        Content::Events(bundle) => {
            entries(packet, bundle, &mut found).map_err(malformed)?;
            Cow::Borrowed(packet)
        }
        Content::Compressed(data) => {
            let unpacked = unpack(data, 0)?;
            for packet in inner(&unpacked)? {
                if let Content::Events(bundle) = content(packet).map_err(malformed)? {
                    entries(&unpacked, bundle, &mut found).map_err(malformed)?;
                }
            }
            Cow::Owned(unpacked)
        }
        _ => Cow::Borrowed(packet),
    };
    // Of events at one time the one that is written first is the first.
    found.sort_by_key(|entry| entry.ts_ns);
    let left = found.into_iter();
    Ok(Open { buffer, left })
}

/// The error of a packet that cannot be decoded.
pub fn undecodable(number: u64) -> Error {
    Error::Damaged(format!(
        "damaged: packet {} cannot be decoded",
        super::packets::grouped(number as usize)
    ))
}

/// Hand all events to `each`, with the number of their packet and the bytes that they are in, in the order of time;
/// of those at one time, in the order of the file.
pub fn in_order(
    whole: &[u8],
    mut units: Vec<Unit>,
    mut each: impl FnMut(u64, &[u8], &Entry) -> Result<()>,
) -> Result<()> {
    units.sort_by_key(|unit| (unit.first_ns, unit.number));
    let mut waiting = units.into_iter().peekable();
    // Open packets by their next event's time and their number.
    let mut next: BinaryHeap<Reverse<(i64, u64, usize)>> = BinaryHeap::new();
    let mut open_units: Vec<Option<(Open, Entry)>> = Vec::new();
    let mut free: Vec<usize> = Vec::new();
    let mut held = 0;
    loop {
        let until = next.peek().map(|Reverse((ts_ns, _, _))| *ts_ns);
        if let Some(unit) = waiting.next_if(|unit| until.is_none_or(|until| unit.first_ns <= until))
        {
            let mut opened = open(whole, &unit)?;
            held += opened.left.len();
            if held > EVENTS {
                return Err(Error::Damaged(
                    "damaged: too many of its events have the same time".into(),
                ));
            }
            let Some(first) = opened.left.next() else {
                continue;
            };
            let slot = free.pop().unwrap_or_else(|| {
                open_units.push(None);
                open_units.len() - 1
            });
            next.push(Reverse((first.ts_ns, unit.number, slot)));
            open_units[slot] = Some((opened, first));
            continue;
        }
        let Some(Reverse((_, number, slot))) = next.pop() else {
            return Ok(());
        };
        let Some((opened, entry)) = open_units[slot].as_mut() else {
            continue;
        };
        each(number, &opened.buffer, entry)?;
        held -= 1;
        match opened.left.next() {
            Some(following) => {
                next.push(Reverse((following.ts_ns, number, slot)));
                *entry = following;
            }
            None => {
                open_units[slot] = None;
                free.push(slot);
            }
        }
    }
}
