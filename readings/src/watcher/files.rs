//! The files of a thread in /proc.

use std::path::PathBuf;

use crate::error::Result;
use crate::proc_file::ProcFile;
use crate::threads::{self, Schedstat, ThreadStat};

/// The two files of a thread. They stay those of this thread even when its number is used again.
pub(super) type Files = (ProcFile, Option<ProcFile>);

/// What they say; None: the thread is gone.
pub(super) type Said = Option<(ThreadStat, Option<Schedstat>)>;

/// What is asked about a thread, and what was answered.
pub(super) struct One {
    /// Where its files are.
    pub at: PathBuf,
    pub tgid: i64,
    pub tid: i64,
    /// None: they are opened for this reading, and stay open if they are to be kept.
    pub files: Option<Files>,
    pub keep: bool,
    pub said: Result<Said>,
}

pub(super) fn read(mut one: One) -> One {
    let files = one.files.take().or_else(|| open(&one));
    if let Some(mut files) = files {
        one.said = said(&mut files);
        one.files = Some(files).filter(|_| one.keep);
    }
    one
}

fn open(one: &One) -> Option<Files> {
    Some((
        ProcFile::open(one.at.join("stat")).ok()?,
        ProcFile::open(one.at.join("schedstat")).ok(),
    ))
}

fn said((stat, schedstat): &mut Files) -> Result<Said> {
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
