//! Where rows go. What cannot be written (a full disk) ends the recording, not the agent.

use iowhy_readings::Reading;
use iowhy_store::{Recording, Result, Row};

/// A recording, or none while none can be written: then rows go nowhere, and only who follows has them.
#[derive(Default)]
pub struct Sink {
    recording: Option<Recording>,
    /// Why what it was last given was not written.
    failed: Option<String>,
}

impl Sink {
    /// From here on rows go there.
    pub fn open(&mut self, recording: Recording) {
        self.recording = Some(recording);
    }

    /// The recording, which is then to be finished.
    pub fn take(&mut self) -> Option<Recording> {
        self.recording.take()
    }

    /// Why it failed since this was last asked.
    pub fn failure(&mut self) -> Option<String> {
        self.failed.take()
    }

    /// Notes that something failed; what came first is kept.
    pub fn fail(&mut self, why: String) {
        self.failed.get_or_insert(why);
    }

    pub fn push<R: Row>(&mut self, row: R) {
        self.write(|recording| recording.push(row));
    }

    pub fn reading(&mut self, reading: Reading) {
        self.write(|recording| reading.push(recording));
    }

    pub fn lost(&mut self, table: &str, rows: u64) {
        self.write(|recording| {
            recording.lost(table, rows);
            Ok(())
        });
    }

    pub fn tick(&mut self, now_ns: i64) {
        self.write(|recording| recording.tick(now_ns));
    }

    fn write(&mut self, write: impl FnOnce(&mut Recording) -> Result<()>) {
        let written = self.recording.as_mut().map(write);
        if let Some(Err(error)) = written {
            self.fail(error.to_string());
        }
    }
}
