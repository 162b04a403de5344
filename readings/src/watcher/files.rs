//! The files of a thread in /proc.

use crate::error::Result;

use crate::proc_file::ProcFile;
use crate::threads::{self, Schedstat, ThreadStat};
use crate::Roots;

/// The two files of a thread. They stay those of this thread even when its number is used again.
pub(super) struct Files {
    roots: Roots,
    tgid: i64,
    tid: i64,
    open: Option<(ProcFile, Option<ProcFile>)>,
}

impl Files {
    /// `keep`: the files stay open; else they are opened for each reading. None when the thread is gone.
    pub fn open(roots: &Roots, tgid: i64, tid: i64, keep: bool) -> Option<Files> {
        let mut files = Files {
            roots: roots.clone(),
            tgid,
            tid,
            open: None,
        };
        let opened = files.now()?;
        files.open = keep.then_some(opened);
        Some(files)
    }

    fn now(&self) -> Option<(ProcFile, Option<ProcFile>)> {
        let at = threads::directory(&self.roots, self.tgid, self.tid);
        Some((
            ProcFile::open(at.join("stat")).ok()?,
            ProcFile::open(at.join("schedstat")).ok(),
        ))
    }

    /// None when the thread is gone.
    pub fn read(&mut self) -> Result<Option<(ThreadStat, Option<Schedstat>)>> {
        let mut opened;
        let (stat, schedstat) = match &mut self.open {
            Some(files) => files,
            None => match self.now() {
                Some(files) => {
                    opened = files;
                    &mut opened
                }
                None => return Ok(None),
            },
        };
        let Ok(text) = stat.read() else {
            return Ok(None);
        };
        let stat = threads::parse_stat(text)?;
        let times = match schedstat {
            Some(file) => file.read().ok().map(threads::parse_schedstat).transpose()?,
            None => None,
        };
        Ok(Some((stat, times)))
    }
}
