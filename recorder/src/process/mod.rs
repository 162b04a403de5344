//! The command's process and those around it: who starts it, who may end it.

pub mod inherited;
pub mod lifeline;
pub mod owner;
pub mod ready;
pub mod signals;
pub mod spawn;
