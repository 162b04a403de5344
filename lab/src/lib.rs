//! The lab of iowhy: what its cases are reproduced on and with.
//!
//! [`disk`] is an emulated disk: a file in a FUSE filesystem that answers with the timing of a disk, so
//! that the effects of slow storage show on any machine. [`work`] holds small programs that do a known
//! amount of I/O in a known pattern and say what they did.

pub mod disk;
pub mod size;
pub mod work;
