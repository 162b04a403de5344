//! Where the functions of databases are: in libraries of the system, and in what is recorded.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use iowhy_readings::host;

use super::{libraries, Live};
use crate::kernel::Probed;

/// Files that are looked at, at most.
const MOST: usize = 1_000;

/// Files that were looked at, and what became of them.
#[derive(Default)]
pub struct Databases {
    known: HashSet<(u64, u64)>,
    runs: bool,
    refused: Option<String>,
}

impl Live {
    /// Probes what is there before the command begins, or runs already.
    pub fn probe_first(&mut self, command: &[OsString], pids: &[i64]) {
        if self.databases.is_none() {
            return;
        }
        let mut files = libraries::system();
        if !command.is_empty() {
            files.extend(libraries::of_command(command));
        }
        files.extend(pids.iter().flat_map(|pid| mapped(*pid)));
        self.probe(&files, false);
        self.note_databases();
    }

    /// Probes what was met since.
    pub fn probe_met(&mut self) {
        let met = self.collector.borrow_mut().take_met();
        if !met.is_empty() {
            self.probe(&met, true);
            self.note_databases();
        }
    }

    fn probe(&mut self, files: &[PathBuf], late: bool) {
        let Some(databases) = &mut self.databases else {
            return;
        };
        for file in files {
            let Ok(found) = fs::metadata(file) else {
                continue;
            };
            let inode = (found.dev(), found.ino());
            if databases.known.len() >= MOST || !databases.known.insert(inode) {
                continue;
            }
            match self.watch.probe_databases(file) {
                Some(Probed::Runs) => {
                    databases.runs = true;
                    if late {
                        let name = fs::read_link(file).unwrap_or_else(|_| file.clone());
                        let name = name.file_name().unwrap_or_default().to_string_lossy();
                        let after = (host::now_ns() - self.begun_ns) as f64 / 1e9;
                        let note = format!("statements of {name} are known from {after:.2} s on");
                        let mut collector = self.collector.borrow_mut();
                        collector.recording().manifest_mut().notes.push(note);
                    }
                }
                Some(Probed::Refused(why)) => databases.refused = Some(why),
                Some(Probed::Lacks) | None => {}
            }
        }
    }

    fn note_databases(&mut self) {
        let Some(databases) = &self.databases else {
            return;
        };
        let nothing = "no program that was recorded has functions of SQLite or PostgreSQL";
        let why = databases.refused.as_deref().unwrap_or(nothing);
        let why = (!databases.runs).then_some(why);
        self.watch.note_databases(why);
    }
}

/// The program of a process, and what it has mapped that may have SQLite in it.
fn mapped(pid: i64) -> Vec<PathBuf> {
    let mut found = vec![format!("/proc/{pid}/exe").into()];
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
    for line in maps.lines().filter(|line| line.contains("r-xp")) {
        let path = line.find('/').map(|at| &line[at..]);
        let name = path.and_then(|path| path.rsplit('/').next());
        if let (Some(path), true) = (path, name.is_some_and(|name| name.contains("sqlite"))) {
            found.push(format!("/proc/{pid}/root{path}").into());
        }
    }
    found.dedup();
    found
}
