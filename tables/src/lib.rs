//! What the recorder and the analysis both know, as data: sensors, system calls, reasons of waits.
//!
//! build.rs makes these tables from python/iowhy/tables, which the analysis reads when it starts.

pub mod calls;
pub mod reasons;
pub mod sensors;
