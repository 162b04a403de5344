//! Functions of databases, in the programs and libraries that have them (bpf/statement.h).

use std::path::Path;

use libbpf_rs::skel::Skel as _;
use libbpf_rs::{ErrorKind, UprobeOpts};

use super::{choice, Probe};

/// A program, the function that it is attached to, and whether where that returns.
type Attached = (&'static str, &'static str, bool);

const SQLITE: [Attached; 14] = [
    ("sqlite_enter", "sqlite3_step", false),
    ("sqlite_stepped", "sqlite3_step", true),
    ("sqlite_prepare", "sqlite3_prepare", false),
    ("sqlite_prepared", "sqlite3_prepare", true),
    ("sqlite_prepare", "sqlite3_prepare_v2", false),
    ("sqlite_prepared", "sqlite3_prepare_v2", true),
    ("sqlite_prepare_v3", "sqlite3_prepare_v3", false),
    ("sqlite_prepared", "sqlite3_prepare_v3", true),
    // Where the file still has the names of its own functions.
    ("sqlite_prepare_within", "sqlite3LockAndPrepare", false),
    ("sqlite_prepared", "sqlite3LockAndPrepare", true),
    ("sqlite_enter", "sqlite3_reset", false),
    ("sqlite_ended", "sqlite3_reset", true),
    ("sqlite_enter", "sqlite3_finalize", false),
    ("sqlite_ended", "sqlite3_finalize", true),
];
const POSTGRESQL: [Attached; 1] = [("postgres_activity", "pgstat_report_activity", false)];

/// What became of the functions of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Probed {
    /// They are probed in every process that has the file.
    Runs,
    /// It has none.
    Lacks,
    /// The kernel does not allow it, in words for who can change it.
    Refused(String),
}

impl Probe {
    /// Probes the functions of the databases that a file has.
    pub fn probe_databases(&mut self, file: &Path) -> Probed {
        let found = [&SQLITE[..], &POSTGRESQL].map(|functions| self.attach_all(file, functions));
        let refused = found.iter().find(|one| matches!(one, Probed::Refused(_)));
        match refused {
            Some(refused) => refused.clone(),
            None if found.contains(&Probed::Runs) => Probed::Runs,
            None => Probed::Lacks,
        }
    }

    /// Those that the file has; one that lacks the first has none.
    fn attach_all(&mut self, file: &Path, functions: &[Attached]) -> Probed {
        let mut links = Vec::new();
        for (program, function, retprobe) in functions {
            let mut programs = self.skel.object_mut().progs_mut();
            let Some(program) = programs.find(|p| p.name() == *program && p.autoload()) else {
                return Probed::Lacks;
            };
            let options = UprobeOpts {
                func_name: Some((*function).to_owned()),
                retprobe: *retprobe,
                ..UprobeOpts::default()
            };
            match program.attach_uprobe_with_opts(-1, file, 0, options) {
                Ok(link) => links.push(link),
                Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                    return Probed::Refused(
                        "uprobes need CAP_SYS_ADMIN: run it as root, outside of a container".into(),
                    );
                }
                Err(_) if links.is_empty() => return Probed::Lacks,
                Err(_) => {}
            }
        }
        self.links.append(&mut links);
        Probed::Runs
    }

    /// What the sensor of databases' functions says of itself in the end: why it does not run, unless it was never loaded.
    pub fn note_databases(&mut self, why: Option<&str>) {
        let mut programs = self.skel.object_mut().progs_mut();
        if !programs.any(|p| p.name() == SQLITE[0].0 && p.autoload()) {
            return;
        }
        for sensor in self
            .sensors
            .iter_mut()
            .filter(|s| s.name == choice::STATEMENTS)
        {
            sensor.ran = why.is_none();
            sensor.why = why.map(str::to_owned);
        }
    }
}
