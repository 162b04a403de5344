//! How much memory the names of a program's code may take. A file says of itself how large its sections are, and a small one may
//! say anything: what is read is counted before it is read, and what is made of it is bounded for the process that makes it.

use std::cell::Cell;
use std::rc::Rc;

/// All memory of the process that reads names (its address space): what libraries make of DWARF is many times what they read.
pub const MEMORY_MOST_BYTES: u64 = 768 << 20;
/// What is read of one module's files. The rest is for what is made of it.
pub const READ_MOST_BYTES: u64 = MEMORY_MOST_BYTES / 2;

/// What may still be read of the files of one module.
#[derive(Clone)]
pub struct Room(Rc<Held>);

struct Held {
    left: Cell<u64>,
    was_full: Cell<bool>,
}

impl Room {
    pub fn new() -> Room {
        Room::of(READ_MOST_BYTES)
    }

    pub fn of(bytes: u64) -> Room {
        Room(Rc::new(Held {
            left: Cell::new(bytes),
            was_full: Cell::new(false),
        }))
    }

    /// Whether there is room for so many more bytes, which then are taken.
    pub fn take(&self, bytes: u64) -> bool {
        match self.0.left.get().checked_sub(bytes) {
            Some(left) => self.0.left.set(left),
            None => self.0.was_full.set(true),
        }
        !self.0.was_full.get()
    }

    pub fn left(&self) -> u64 {
        self.0.left.get()
    }

    /// Something was not read.
    pub fn was_full(&self) -> bool {
        self.0.was_full.get()
    }
}
