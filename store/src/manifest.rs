//! `manifest.json`: what was recorded, on what machine, by which sensors, and what was lost. None is
//! unknown. The Python side is `iowhy.recordings.manifest`.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct Manifest {
    /// Version of the schema of the tables.
    pub schema: u32,
    /// Version of iowhy.
    pub iowhy: String,
    pub source: Source,
    /// Whether the recording was ended in order.
    pub complete: bool,
    pub host: Host,
    pub clock: Clock,
    pub command: Command,
    pub sensors: Vec<Sensor>,
    /// Kept up to date by [`crate::Recording`].
    pub tables: BTreeMap<String, Kept>,
    pub recorder: Recorder,
    /// What else a reader must know, in sentences.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// Where the rows come from.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// eBPF.
    Live,
    /// /proc alone.
    Proc,
    /// The text of other tools.
    Diagnose,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq)]
pub struct Host {
    pub name: Option<String>,
    /// Release of the kernel (uname -r).
    pub kernel: Option<String>,
    pub machine: Option<String>,
    pub cpus: Option<i64>,
    pub memory_bytes: Option<i64>,
    pub page_bytes: Option<i64>,
    pub os: Option<String>,
}

/// One instant on CLOCK_MONOTONIC and on the wall clock (since 1970, UTC).
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, PartialEq)]
pub struct Clock {
    pub monotonic_ns: Option<i64>,
    pub wall_ns: Option<i64>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq)]
pub struct Command {
    pub mode: Mode,
    pub argv: Vec<String>,
    /// The options of `iowhy run` that named control groups, and the names: `--container`, `web`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<String>,
    pub cwd: Option<String>,
    pub user: Option<String>,
    pub exit_status: Option<i64>,
    pub signal: Option<i64>,
    pub start_ns: Option<i64>,
    pub end_ns: Option<i64>,
}

/// What was watched.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    #[default]
    Run,
    Attach,
    /// A block of a program.
    Block,
    Machine,
    Paste,
}

#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct Sensor {
    pub name: String,
    pub ran: bool,
    /// Why it did not run, or what is not known here.
    pub why: Option<String>,
}

impl Sensor {
    pub fn ran(name: impl Into<String>) -> Sensor {
        Sensor {
            name: name.into(),
            ran: true,
            why: None,
        }
    }

    pub fn missing(name: impl Into<String>, why: impl Into<String>) -> Sensor {
        Sensor {
            name: name.into(),
            ran: false,
            why: Some(why.into()),
        }
    }
}

/// Rows of a table that are in its files, and rows that were lost before.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
pub struct Kept {
    pub kept: u64,
    pub lost: u64,
}

/// The recorder and what it cost.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq)]
pub struct Recorder {
    pub version: Option<String>,
    pub cpu_ns: Option<i64>,
    pub memory_peak_bytes: Option<i64>,
    /// What it cost a system call that does nothing, as measured when the recorder started.
    pub call_ns: Option<i64>,
    /// Of it, the way to the programs and back, which is the same for all calls.
    pub call_passing_ns: Option<i64>,
    /// What it cost more where a call asks the page cache for what it reads.
    pub call_lookup_ns: Option<i64>,
    pub pid: Option<i64>,
}

impl Manifest {
    /// An empty one with the versions and this process as its recorder.
    pub fn new(source: Source) -> Manifest {
        let version = env!("CARGO_PKG_VERSION").to_owned();
        Manifest {
            schema: crate::rows::VERSION,
            iowhy: version.clone(),
            source,
            complete: false,
            host: Host::default(),
            clock: Clock::default(),
            command: Command::default(),
            sensors: Vec::new(),
            tables: BTreeMap::new(),
            recorder: Recorder {
                version: Some(version),
                pid: Some(i64::from(std::process::id())),
                ..Recorder::default()
            },
            notes: Vec::new(),
        }
    }

    /// Reads the manifest of a recording.
    pub fn read(recording: &Path) -> Result<Manifest> {
        let path = recording.join("manifest.json");
        match std::fs::read(&path) {
            Ok(text) => {
                serde_json::from_slice(&text).map_err(|error| Error::Manifest { path, error })
            }
            Err(error) => Err(Error::Read { path, error }),
        }
    }

    /// Writes `manifest.json` so that a reader finds the old one or the new one, never a part.
    pub fn write(&self, recording: &Path) -> std::io::Result<()> {
        let temporary = recording.join("manifest.json.tmp");
        let mut text = serde_json::to_vec_pretty(self)?;
        text.push(b'\n');
        let written = crate::folder::private_file(&temporary)
            .and_then(|mut file| file.write_all(&text))
            .and_then(|()| std::fs::rename(&temporary, recording.join("manifest.json")));
        if written.is_err() {
            let _ = std::fs::remove_file(&temporary);
        }
        written
    }
}
