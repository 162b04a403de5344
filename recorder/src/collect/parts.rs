//! The calls of a record of many, which are coded as what they do not share with the call before (bpf/calls.h).

use crate::event::{self, layout, Call, CallFile, CallReturn, CallWaits, CallWide, Calls, Header};

/// The calls of a record, in the order in which they returned.
pub struct Parts<'a> {
    rest: &'a [u8],
    /// What the next call shares with the one before.
    next: Call,
    wide: Option<CallWide>,
}

impl<'a> Parts<'a> {
    /// None when the record is cut off.
    pub fn of(bytes: &'a [u8]) -> Option<Parts<'a>> {
        let calls: Calls = event::read(bytes)?;
        let rest = bytes.get(size_of::<Calls>()..)?;
        let next = Call {
            header: Header {
                kind: layout::EVENT_CALL,
                ..calls.header
            },
            ts: calls.ts,
            tgid: calls.tgid,
            ..Call::default()
        };
        Some(Parts {
            rest: rest.get(..calls.length as usize)?,
            next,
            wide: None,
        })
    }

    fn take<T: event::Plain>(&mut self) -> Option<T> {
        let part = event::read(self.rest)?;
        self.rest = &self.rest[size_of::<T>()..];
        Some(part)
    }

    fn returned(&mut self) -> Option<Call> {
        let part: CallReturn = self.take()?;
        let call = &mut self.next;
        call.header.flags = part.flags;
        call.header.nr = part.nr;
        call.fd = part.fd;
        call.offset = part.offset;
        match self.wide.take() {
            Some(wide) => {
                (call.ts, call.dur) = (wide.ts, wide.dur);
                (call.bytes, call.ret) = (wide.bytes, wide.ret);
            }
            None => {
                call.ts += u64::from(part.after);
                (call.dur, call.bytes) = (part.dur.into(), part.bytes.into());
                call.ret = part.ret.into();
            }
        }
        let done = *call;
        (call.runnable, call.blocked, call.sleeping) = (0, 0, 0);
        Some(done)
    }
}

impl Iterator for Parts<'_> {
    type Item = Call;

    fn next(&mut self) -> Option<Call> {
        loop {
            match *self.rest.first()? {
                layout::PART_FILE => {
                    let CallFile { file, .. } = self.take()?;
                    (self.next.dev, self.next.ino) = (file.dev, file.ino);
                    self.next.generation = file.generation;
                }
                layout::PART_WAITS => {
                    let waits: CallWaits = self.take()?;
                    self.next.runnable = waits.runnable;
                    self.next.blocked = waits.blocked;
                    self.next.sleeping = waits.sleeping;
                }
                layout::PART_WIDE => self.wide = Some(self.take()?),
                layout::PART_RETURN => return self.returned(),
                _ => return None,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::FileId;

    fn bytes_of<T: event::Plain>(part: &T) -> Vec<u8> {
        // SAFETY: plain data without padding.
        unsafe { std::slice::from_raw_parts(std::ptr::from_ref(part).cast(), size_of::<T>()) }
            .to_vec()
    }

    fn returned(nr: u16, after: u32, ret: i32, offset: u64) -> Vec<u8> {
        bytes_of(&CallReturn {
            part: layout::PART_RETURN,
            flags: layout::CALL_HAS_FILE,
            nr,
            fd: 3,
            after,
            dur: 7,
            bytes: 4096,
            ret,
            offset,
        })
    }

    fn record(parts: &[Vec<u8>]) -> Vec<u8> {
        let rest = parts.concat();
        let calls = Calls {
            header: Header {
                kind: layout::EVENT_CALLS,
                flags: 0,
                nr: 3,
                tid: 12,
            },
            ts: 1000,
            tgid: 11,
            length: rest.len() as u32,
        };
        [bytes_of(&calls), rest].concat()
    }

    fn three() -> Vec<u8> {
        let file = bytes_of(&CallFile {
            part: layout::PART_FILE,
            file: FileId {
                dev: 5,
                ino: 1 << 40,
                generation: 6,
            },
            ..CallFile::default()
        });
        let waits = bytes_of(&CallWaits {
            part: layout::PART_WAITS,
            blocked: 4,
            runnable: 2,
            sleeping: 1,
            ..CallWaits::default()
        });
        let wide = bytes_of(&CallWide {
            part: layout::PART_WIDE,
            ts: 1 << 50,
            dur: 1 << 33,
            bytes: u64::MAX,
            ret: i64::MIN,
            ..CallWide::default()
        });
        let (first, second) = (returned(17, 0, 4096, 1 << 45), returned(18, 30, -4, 8192));
        record(&[file, first, waits, second, wide, returned(17, 9, 0, 1)])
    }

    #[test]
    fn each_call_has_what_it_shares_and_what_is_its_own() {
        let calls: Vec<Call> = Parts::of(&three()).unwrap().collect();
        let files: Vec<_> = calls
            .iter()
            .map(|c| (c.dev, c.ino, c.generation, c.tgid))
            .collect();
        assert_eq!(files, [(5, 1 << 40, 6, 11); 3]);
        let headers: Vec<_> = calls.iter().map(|c| (c.header.nr, c.header.tid)).collect();
        assert_eq!(headers, [(17, 12), (18, 12), (17, 12)]);
        let times: Vec<_> = calls.iter().map(|c| (c.ts, c.dur)).collect();
        assert_eq!(times, [(1000, 7), (1030, 7), (1 << 50, 1 << 33)]);
        let results: Vec<_> = calls.iter().map(|c| (c.bytes, c.ret, c.offset)).collect();
        let (first, second) = ((4096, 4096, 1 << 45), (4096, -4, 8192));
        assert_eq!(results, [first, second, (u64::MAX, i64::MIN, 1)]);
        let waits: Vec<_> = calls
            .iter()
            .map(|c| (c.runnable, c.blocked, c.sleeping))
            .collect();
        assert_eq!(waits, [(0, 0, 0), (2, 4, 1), (0, 0, 0)]);
    }

    #[test]
    fn a_record_that_is_cut_off_is_none_and_an_unknown_part_ends_it() {
        let whole = three();
        for end in 0..whole.len() {
            assert!(Parts::of(&whole[..end]).is_none(), "{end}");
        }
        let unknown = record(&[returned(1, 0, 0, 0), vec![99; 64], returned(2, 0, 0, 0)]);
        assert_eq!(Parts::of(&unknown).unwrap().count(), 1);
        let short = record(&[returned(1, 0, 0, 0), returned(2, 0, 0, 0)[..31].to_vec()]);
        assert_eq!(Parts::of(&short).unwrap().count(), 1);
    }
}
