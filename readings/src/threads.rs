//! What /proc has of one thread: /proc/PID/task/TID/stat and schedstat (proc_pid_stat(5),
//! Documentation/scheduler/sched-stats.rst), and which children a process has.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use crate::error::Result;

use crate::proc_file::{number, Text};
use crate::Roots;

/// One thread as it was when it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadStat {
    pub tid: i64,
    /// Name; bytes that are not UTF-8 as \xNN.
    pub comm: String,
    /// R running or runnable, S sleeping, D uninterruptible, T stopped, t traced, Z zombie, X dead, I idle.
    pub state: u8,
    pub ppid: i64,
    /// CPU time in ticks ([`crate::host::tick_ns`]). The kernel scales the two so that they sum to what
    /// the scheduler measured.
    pub user_ticks: i64,
    pub kernel_ticks: i64,
    /// When it started, in ticks since boot on CLOCK_BOOTTIME.
    pub start_ticks: i64,
    /// Wait status; of use only once it is a zombie.
    pub exit_code: Option<i64>,
}

/// The scheduler's own times of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedstat {
    /// On a CPU.
    pub run_ns: i64,
    /// Ready and waiting for one; of a wait that still lasts, nothing yet.
    pub runnable_ns: i64,
}

pub(crate) fn parse_stat(text: Text<'_>) -> Result<ThreadStat> {
    let line = text.first_line();
    let parse = || {
        // The name may hold anything, parentheses and line ends too: it ends at the last one.
        let open = text.bytes.iter().position(|b| *b == b'(')?;
        let close = text.bytes.iter().rposition(|b| *b == b')')?;
        let comm = crate::names::escaped(text.bytes.get(open + 1..close)?);
        let tid = number(text.bytes[..open].trim_ascii())?;
        let rest: Vec<&[u8]> = text.bytes[close + 1..]
            .split(u8::is_ascii_whitespace)
            .filter(|word| !word.is_empty())
            .collect();
        let field = |place: usize| rest.get(place - 3).copied().and_then(number);
        Some(ThreadStat {
            tid,
            comm,
            state: *rest.first()?.first()?,
            ppid: field(4)?,
            user_ticks: field(14)?,
            kernel_ticks: field(15)?,
            start_ticks: field(22)?,
            exit_code: field(52),
        })
    };
    parse().ok_or_else(|| line.error("not the stat of a thread"))
}

pub(crate) fn parse_schedstat(text: Text<'_>) -> Result<Schedstat> {
    let line = text.first_line();
    let mut words = line.words();
    let run_ns = words.number("time on a CPU")?;
    let runnable_ns = words.number("time in the run queue")?;
    Ok(Schedstat {
        run_ns,
        runnable_ns,
    })
}

/// Where a thread's files are.
pub(crate) fn directory(roots: &Roots, tgid: i64, tid: i64) -> PathBuf {
    roots.proc.join(format!("{tgid}/task/{tid}"))
}

/// The threads of a process.
pub(crate) fn tids(roots: &Roots, tgid: i64) -> io::Result<Vec<i64>> {
    ids(&roots.proc.join(tgid.to_string()).join("task"))
}

/// The entries of a directory that are numbers.
fn ids(directory: &Path) -> io::Result<Vec<i64>> {
    let entries = std::fs::read_dir(directory)?.flatten();
    Ok(entries
        .filter_map(|e| number(e.file_name().as_encoded_bytes()))
        .collect())
}

/// The processes that a thread has forked, by its `children` file (CONFIG_PROC_CHILDREN).
pub(crate) fn children_of_thread(roots: &Roots, tgid: i64, tid: i64) -> io::Result<Vec<i64>> {
    let text = std::fs::read(directory(roots, tgid, tid).join("children"))?;
    Ok(text
        .split(u8::is_ascii_whitespace)
        .filter_map(number)
        .collect())
}

/// (process, parent) of every process of the machine, for kernels without `children` files. Its status a process shows also while
/// it runs exec, which its stat does not.
pub(crate) fn parents(roots: &Roots) -> Vec<(i64, i64)> {
    let mut all = Vec::new();
    for pid in ids(&roots.proc).unwrap_or_default() {
        let status = std::fs::read(roots.proc.join(pid.to_string()).join("status"));
        let parent = status.ok().and_then(|status| parent(&status));
        all.extend(parent.map(|parent| (pid, parent)));
    }
    all
}

/// Of a status; its name may hold anything but a line end.
fn parent(status: &[u8]) -> Option<i64> {
    let mut lines = status.split(|byte| *byte == b'\n');
    number(
        lines
            .find_map(|line| line.strip_prefix(b"PPid:"))?
            .trim_ascii(),
    )
}

/// The processes and all that descend from them now, each once: the given ones first, in their order.
pub fn with_descendants(roots: &Roots, pids: &[i64]) -> Vec<i64> {
    with_descendants_but(roots, pids, |_| false)
}

/// The same without the descendants that are `left_out`, and without what these have started.
pub fn with_descendants_but(
    roots: &Roots,
    pids: &[i64],
    left_out: impl Fn(i64) -> bool,
) -> Vec<i64> {
    let mut children: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
    for (pid, parent) in parents(roots) {
        children.entry(parent).or_default().push(pid);
    }
    let mut known = BTreeSet::new();
    let mut found: Vec<i64> = pids
        .iter()
        .copied()
        .filter(|pid| known.insert(*pid))
        .collect();
    let mut at = 0;
    while let Some(pid) = found.get(at) {
        let more = children.get(pid).map_or(&[][..], Vec::as_slice);
        found.extend(
            more.iter()
                .filter(|&&pid| known.insert(pid) && !left_out(pid)),
        );
        at += 1;
    }
    found
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text(bytes: &[u8]) -> Text<'_> {
        Text {
            path: Path::new("stat"),
            bytes,
        }
    }

    #[test]
    fn a_name_with_everything_in_it() {
        let line =
            b"12 (a) R (b\xff\n) D 7 1 1 0 -1 4194304 100 0 0 0 31 42 0 0 20 0 1 0 155207 1 2";
        let stat = parse_stat(text(line)).unwrap();
        assert_eq!(stat.comm, "a) R (b\\xff\n");
        assert_eq!((stat.tid, stat.state, stat.ppid), (12, b'D', 7));
        assert_eq!(
            (stat.user_ticks, stat.kernel_ticks, stat.start_ticks),
            (31, 42, 155_207)
        );
        assert_eq!(stat.exit_code, None);
        let error = parse_stat(text(b"12 (a) R")).unwrap_err().to_string();
        assert_eq!(error, "stat:1: not the stat of a thread");
    }

    #[test]
    fn children_of_children_are_taken_and_others_not() {
        let made = tempfile::tempdir().unwrap();
        let roots = Roots {
            proc: made.path().into(),
            sys: made.path().into(),
            ..Roots::default()
        };
        let tree = [
            (10, 1, "a"),
            (11, 10, "a\\nPPid: 1"),
            (12, 11, "a"),
            (9, 12, "a"),
            (20, 1, "a"),
        ];
        for (pid, parent, name) in tree {
            let folder = made.path().join(pid.to_string());
            std::fs::create_dir(&folder).unwrap();
            let status = format!("Name:\t{name}\nPid:\t{pid}\nPPid:\t{parent}\nTracerPid:\t0\n");
            std::fs::write(folder.join("status"), status).unwrap();
        }
        assert_eq!(with_descendants(&roots, &[10]), [10, 11, 12, 9]);
        assert_eq!(with_descendants(&roots, &[20, 10, 20]), [20, 10, 11, 12, 9]);
        assert_eq!(
            with_descendants_but(&roots, &[10], |pid| pid == 12),
            [10, 11]
        );
        assert_eq!(with_descendants(&roots, &[7]), [7]);
    }

    proptest! {
        #[test]
        fn any_bytes(bytes: Vec<u8>) {
            let _ = parse_stat(text(&bytes));
            let _ = parse_schedstat(text(&bytes));
        }

        #[test]
        fn any_words(line in "[0-9]{0,3} ?\\(?[a-z)]{0,3}\\)?( [0-9A-Z-]{1,20}){0,55}") {
            let _ = parse_stat(text(line.as_bytes()));
        }
    }
}
