//! What both tests need.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use iowhy_unwind::Served;

/// No file is elsewhere; those of processes are below this folder.
pub struct Nowhere(pub PathBuf);

impl Served for Nowhere {
    fn is_served(&mut self, _dev: u32) -> bool {
        false
    }

    fn process_file(&mut self, tgid: u32, name: &str, at: u64, most: u64) -> Option<Vec<u8>> {
        let file = File::open(self.0.join(format!("{tgid}/{name}"))).ok()?;
        let mut bytes = Vec::new();
        if name == "mem" {
            bytes.resize(most as usize, 0);
            file.read_exact_at(&mut bytes, at).ok()?;
        } else {
            file.take(most).read_to_end(&mut bytes).ok()?;
        }
        Some(bytes)
    }

    fn read(&mut self, _path: &[u8], _ino: u64, _offset: u64, _length: u64) -> Option<Vec<u8>> {
        None
    }
}
