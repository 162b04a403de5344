//! The end of a recording: what is still under way, and what is asked of files and filesystems.

use std::time::Duration;

use iowhy_readings::host;
use iowhy_readings::reach::{Silent, PATIENCE};
use iowhy_store::manifest::Sensor;
use iowhy_store::{Recording, Result};

use super::{hanging, Collector};
use crate::event::{self, layout, Sample};
use crate::identity::Identified;
use crate::rows::{call, request};

/// How long filesystems are asked at the end, all of them together.
const ASKED_MOST: Duration = Duration::from_secs(10);

impl Collector {
    /// Writes what is known of files, disks and filesystems at the end; gives the recording and the sensor of extents.
    pub fn into_recording(mut self) -> anyhow::Result<(Recording, Sensor)> {
        self.stacks.finish(&mut self.recording)?;
        self.reach.end_after(ASKED_MOST);
        let sensor =
            self.files
                .finish(&mut self.recording, self.threads.elsewhere, &mut self.reach)?;
        self.places.finish(&mut self.recording, &mut self.reach)?;
        let notes = self.reach.silent().iter().map(unanswered);
        let notes = notes.chain(self.containers.hidden());
        self.recording.manifest_mut().notes.extend(notes);
        Ok((self.recording, sensor))
    }

    /// The end: calls that have not returned, requests and operations under way, threads that live on.
    pub fn finish(
        &mut self,
        samples: &[Sample],
        unfinished: &[event::Request],
        under_way: &[event::Operation],
    ) -> Result<()> {
        let now_ns = host::now_ns() as u64;
        let hanging = self.threads.hanging(now_ns, &mut self.reach);
        hanging::ask(&hanging, &mut self.reach);
        for hang in hanging {
            hang.write(now_ns, &mut self.recording)?;
        }
        for sample in samples {
            self.threads
                .clock(&sample.clock, true, &mut self.recording)?;
            let mut call = sample.call;
            if call.header.kind == layout::EVENT_CALL {
                call.identify(&mut self.identities);
                let ring = self.rings.of_call(&call);
                self.recording.push(call::row(&call, false, ring))?;
            }
        }
        for request in unfinished {
            let mut request = *request;
            request.identify(&mut self.identities);
            let ring = self.rings.of(request.tgid, request.ring);
            self.recording
                .push(request::row(&request, ring, self.sees_requeues))?;
        }
        for operation in under_way {
            let mut operation = *operation;
            operation.identify(&mut self.identities);
            self.operation(&operation)?;
        }
        self.threads
            .finish(&mut self.containers, &mut self.recording)
    }
}

/// What is said of a mount that did not answer.
fn unanswered(silent: &Silent) -> String {
    let Silent { mount, kind, .. } = silent;
    let seconds = PATIENCE.as_secs();
    format!("{mount} ({kind}) did not answer the recorder within {seconds} s: sizes and layout of its files are missing")
}
