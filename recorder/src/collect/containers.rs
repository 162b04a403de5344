//! Which containers the recorded processes are in, each written down once.

use std::collections::HashSet;
use std::sync::Arc;

use iowhy_readings::containers::{hidden, Container, Containers};
use iowhy_readings::{host, Roots};
use iowhy_store::{Name, Recording, Result};

/// Containers that get a row.
const MOST: usize = 65_536;

/// Finds containers, and writes their rows.
pub struct Seen {
    containers: Option<Containers>,
    written: HashSet<(String, String)>,
}

impl Seen {
    pub fn new(containers: Option<Containers>) -> Seen {
        Seen {
            containers,
            written: HashSet::new(),
        }
    }

    /// Of this machine, by the hierarchy that its containers are on.
    pub fn of_machine() -> Seen {
        Seen::new(Containers::new(&Roots::default()))
    }

    /// What is said where the runtimes' files did not answer.
    pub fn hidden(&self) -> Option<String> {
        let silent = self.containers.as_ref()?.silent()?;
        Some(hidden(silent))
    }

    /// The id of the container that a group belongs to, known by its number, or else by a process in it. Empty: in
    /// none. None: not known.
    pub fn of_number(
        &mut self,
        number: u64,
        tgid: u32,
        recording: &mut Recording,
    ) -> Result<Option<Name>> {
        let Some(containers) = &mut self.containers else {
            return Ok(None);
        };
        let found = containers.of_number(number, tgid.into(), host::now_ns());
        self.named(found, recording)
    }

    /// The same of a process that runs.
    pub fn of_process(&mut self, tgid: u32, recording: &mut Recording) -> Result<Option<Name>> {
        let Some(containers) = &mut self.containers else {
            return Ok(None);
        };
        let found = containers.of_process(tgid.into(), host::now_ns());
        self.named(found, recording)
    }

    fn named(
        &mut self,
        found: Option<Option<Arc<Container>>>,
        recording: &mut Recording,
    ) -> Result<Option<Name>> {
        let container = match found {
            None => return Ok(None),
            Some(None) => return Ok(Some(Name::Borrowed(""))),
            Some(Some(container)) => container,
        };
        let key = (container.id.clone(), container.group.clone());
        if self.written.len() < MOST && self.written.insert(key) {
            recording.push(container.row())?;
        }
        Ok(Some(Name::Owned(container.id.clone())))
    }
}
