//! What both tests need.

use iowhy_unwind::Served;

/// No file is elsewhere.
pub struct Nowhere;

impl Served for Nowhere {
    fn is_served(&mut self, _dev: u32) -> bool {
        false
    }

    fn read(&mut self, _path: &[u8], _ino: u64, _offset: u64, _length: u64) -> Option<Vec<u8>> {
        None
    }
}
