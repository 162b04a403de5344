//! The samplers over trees of known text: every number is known in advance.

mod cgroups;
mod machine;
mod process_io;
mod remote;
mod tree;
