//! The packets of a trace file (TracePacket), and what each of them holds.

use super::wire::{fields, varint, Malformed};
use crate::error::{Error, Result};

/// A packet is a page or a few of events; anything larger is damaged or hostile.
const PACKET_BYTES: usize = 64 << 20;
/// What compressed packets may grow to in all.
const UNPACKED_BYTES: usize = 8 << 30;

/// Tag of Trace.packet (field 1, length-delimited).
const PACKET: u8 = 0x0a;

/// A packet of the file.
pub struct Place {
    pub start: usize,
    pub end: usize,
}

/// The packets of a file, in its order; an end that is cut off is left out.
pub struct Packets<'a> {
    whole: &'a [u8],
    at: usize,
}

impl<'a> Packets<'a> {
    pub fn new(whole: &'a [u8]) -> Self {
        Self { whole, at: 0 }
    }

    fn next_place(&mut self) -> Result<Option<Place>> {
        let rest = &self.whole[self.at..];
        let damaged =
            |what: String| Error::Damaged(format!("damaged at byte {}: {what}", grouped(self.at)));
        let Some((&tag, rest)) = rest.split_first() else {
            return Ok(None);
        };
        let (length, rest) = match varint(rest) {
            Ok((length, rest)) if tag == PACKET => (length, rest),
            _ => return Err(damaged("no packet of a Perfetto trace begins there".into())),
        };
        if length > PACKET_BYTES as u64 {
            return Err(damaged(format!(
                "a packet of {} bytes",
                grouped(length as usize)
            )));
        }
        if rest.len() < length as usize {
            return Ok(None);
        }
        let start = self.whole.len() - rest.len();
        self.at = start + length as usize;
        let end = self.at;
        Ok(Some(Place { start, end }))
    }
}

impl Iterator for Packets<'_> {
    type Item = Result<Place>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_place().transpose()
    }
}

/// What a packet is used for here.
pub enum Content<'a> {
    /// FtraceEventBundle.
    Events(&'a [u8]),
    /// ProcessTree.
    Processes(&'a [u8]),
    /// SystemInfo.
    System(&'a [u8]),
    /// Other packets, compressed by zlib.
    Compressed(&'a [u8]),
    Other,
}

/// What a packet holds.
pub fn content(packet: &[u8]) -> std::result::Result<Content<'_>, Malformed> {
    let mut found = Content::Other;
    for field in fields(packet) {
        let (number, value) = field?;
        match number {
            1 => found = Content::Events(value.bytes()),
            2 => found = Content::Processes(value.bytes()),
            45 => found = Content::System(value.bytes()),
            50 => found = Content::Compressed(value.bytes()),
            _ => {}
        }
    }
    Ok(found)
}

/// Unpack compressed packets; `so_far` are the bytes that all before them have made.
pub fn unpack(data: &[u8], so_far: usize) -> Result<Vec<u8>> {
    use miniz_oxide::inflate::{decompress_to_vec_zlib_with_limit, TINFLStatus};
    match decompress_to_vec_zlib_with_limit(data, PACKET_BYTES) {
        Ok(whole) if so_far + whole.len() <= UNPACKED_BYTES => Ok(whole),
        Err(error) if error.status != TINFLStatus::HasMoreOutput => Err(Error::Damaged(
            "damaged: a compressed packet cannot be unpacked".into(),
        )),
        _ => Err(Error::Damaged(
            "its compressed packets unpack to too much to be a trace".into(),
        )),
    }
}

/// The packets inside a compressed one.
pub fn inner(unpacked: &[u8]) -> Result<Vec<&[u8]>> {
    let damaged = || Error::Damaged("damaged: a compressed packet holds no packets".into());
    let mut found = Vec::new();
    for field in fields(unpacked) {
        match field {
            Ok((1, super::wire::Value::Bytes(packet))) => found.push(packet),
            _ => return Err(damaged()),
        }
    }
    Ok(found)
}

/// A number with a comma between thousands.
pub fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_of_a_file() {
        let places = |data: &[u8]| -> Result<Vec<(usize, usize)>> {
            Packets::new(data)
                .map(|place| place.map(|place| (place.start, place.end)))
                .collect()
        };
        assert_eq!(
            places(&[0x0a, 1, 7, 0x0a, 0, 0x0a, 9, 1]).unwrap(),
            [(2, 3), (5, 5)]
        );
        let error = places(&[0x0a, 1, 7, 0xff]).unwrap_err().to_string();
        assert!(error.contains("damaged at byte 3:"), "{error}");
        let error = places(&[0x0a, 0xff, 0xff, 0xff, 0xff, 0x7f])
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("a packet of 34,359,738,367 bytes"),
            "{error}"
        );
    }
}
