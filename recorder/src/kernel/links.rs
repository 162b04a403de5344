//! Programs that run: a link each.

use libbpf_rs::{Link, ProgramMut};

/// A program that the kernel took, and does not run.
#[derive(Debug, thiserror::Error)]
#[error("cannot attach {program}: {words}")]
pub struct NotAttached {
    pub program: String,
    pub words: String,
}

/// Programs that were attached: they run as long as these links live.
#[derive(Default)]
pub(super) struct Links {
    pub running: Vec<Link>,
    /// The one that is run for what is asked of threads, not by events.
    pub threads: Option<Link>,
}

impl Links {
    pub fn push(&mut self, program: ProgramMut) -> Result<(), NotAttached> {
        let name = program.name().to_string_lossy().into_owned();
        let link = program.attach().map_err(|error| NotAttached {
            program: name.clone(),
            words: format!("cannot be attached ({error})"),
        })?;
        if name == "each_thread" {
            self.threads = Some(link);
        } else {
            self.running.push(link);
        }
        Ok(())
    }
}
