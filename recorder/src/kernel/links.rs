//! Programs that run: a link each.

use anyhow::{Context, Result};
use libbpf_rs::{Link, ProgramMut};

/// Programs that were attached: they run as long as these links live.
#[derive(Default)]
pub(super) struct Links {
    pub running: Vec<Link>,
    /// The one that is run for what is asked of threads, not by events.
    pub threads: Option<Link>,
}

impl Links {
    /// Attaches a program. An error names it.
    pub fn push(&mut self, program: ProgramMut) -> Result<()> {
        let name = program.name().to_string_lossy().into_owned();
        let link = program
            .attach()
            .with_context(|| format!("cannot attach {name}"))?;
        if name == "each_thread" {
            self.threads = Some(link);
        } else {
            self.running.push(link);
        }
        Ok(())
    }
}
