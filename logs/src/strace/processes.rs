//! The threads of a log, and the files behind the descriptors of their processes.

use ahash::{HashMap, HashSet};
use iowhy_tables::calls::{Call, Effect};

use super::arguments::{asks_durable, descriptor, pair, quoted, unescaped};
use super::ending::End;
use crate::error::Result;
use crate::output::rows::{Text, TracedThread};
use crate::output::Output;
use crate::text::contains;

/// Threads that are kept apart; processes whose descriptors are followed, and descriptors of each.
pub const THREADS: usize = 1_000_000;
const PROCESSES: usize = 50_000;
const DESCRIPTORS: usize = 4096;
/// The kernel's names of threads are no longer.
const COMM_BYTES: usize = 15;

#[derive(Default)]
struct Thread {
    tgid: i32,
    ppid: i32,
    comm: String,
    start_ns: i64,
    end_ns: Option<i64>,
    exit_code: Option<i64>,
    /// By the log itself: not after its parent.
    named: bool,
}

/// What is known of a descriptor.
#[derive(Clone, Copy, Default)]
pub struct Descriptor {
    /// The file behind it, or what else it is of; None: not known.
    pub path: Option<Text>,
    /// What is written to it is durable when the call returns (O_SYNC, O_DSYNC).
    pub durable: bool,
}

#[derive(Default)]
pub struct Processes {
    /// The number of the log's first thread, if its lines are without one at first (else 0).
    main: i32,
    announced: HashSet<i32>,
    threads: HashMap<i32, Thread>,
    /// By process and descriptor.
    files: HashMap<i32, HashMap<i32, Descriptor>>,
}

impl Processes {
    pub fn main(&self) -> i32 {
        self.main
    }

    /// A thread that will have lines of its own.
    pub fn announce(&mut self, tid: i32) {
        if self.announced.len() < THREADS {
            self.announced.insert(tid);
        }
    }

    /// The thread of a line. Lines without one are the first thread's, whose number is known only once
    /// there are others: until then, and in the rows, it is 0.
    pub fn thread(&mut self, given: Option<i32>, now: i64) -> i32 {
        let tid = match given {
            Some(tid) if self.main == 0 && self.threads.contains_key(&0) => {
                if !self.announced.contains(&tid) && !self.threads.contains_key(&tid) {
                    self.main = tid;
                    0
                } else {
                    tid
                }
            }
            Some(tid) if tid == self.main => 0,
            Some(tid) => tid,
            None => 0,
        };
        if !self.threads.contains_key(&tid) && self.threads.len() < THREADS {
            let thread = Thread {
                tgid: tid,
                start_ns: now,
                comm: "?".into(),
                ..Thread::default()
            };
            self.threads.insert(tid, thread);
        }
        tid
    }

    /// The thread has ended; `exit_code` as wait() gives it.
    pub fn end(&mut self, tid: i32, now: i64, exit_code: Option<i64>) {
        if let Some(thread) = self.threads.get_mut(&tid) {
            thread.end_ns = Some(now);
            thread.exit_code = exit_code;
        }
    }

    /// What a call changes: descriptors, threads, names. Returns the file of a call that goes by a name, if it
    /// is one (and then what is known of it).
    pub fn follow(
        &mut self,
        tid: i32,
        known: Option<&Call>,
        end: &End,
        now: i64,
        output: &mut Output,
    ) -> Result<Option<Option<Text>>> {
        let Some((known, effect)) = known.and_then(|known| Some((known, known.effect?))) else {
            return Ok(None);
        };
        let owner = self.owner(tid);
        // What it returned, if it did and has not failed.
        let made = end
            .ret
            .filter(|&ret| ret >= 0)
            .map(|ret| i32::try_from(ret).ok());
        match (effect, made) {
            (Effect::Open | Effect::Named, _) => {
                let absolute = end.path.filter(|path| path.starts_with(b"/"));
                let Some(text) = absolute.or_else(|| quoted(end.arguments)) else {
                    return Ok(None);
                };
                let path = output.text(&unescaped(text))?;
                if let (Effect::Open, Some(Some(fd))) = (effect, made) {
                    let durable = asks_durable(end.arguments);
                    self.set(owner, fd, Descriptor { path, durable });
                }
                return Ok(Some(path));
            }
            (Effect::Close, Some(_)) => {
                if let Some(fd) = descriptor(end.arguments, 0).0 {
                    self.forget(owner, fd);
                }
            }
            (Effect::Descriptor, Some(Some(fd))) => self.make(owner, &[fd], known, output)?,
            (Effect::Pair, Some(_)) => {
                if let Some(both) = pair(end.arguments) {
                    self.make(owner, &both, known, output)?;
                }
            }
            (Effect::Duplicate, Some(Some(new))) => {
                let copies = known.name != "fcntl" || contains(end.arguments, b"F_DUPFD");
                if let (true, (Some(old), _)) = (copies, descriptor(end.arguments, 0)) {
                    self.set(owner, new, self.file(owner, old));
                }
            }
            (Effect::Clone, Some(Some(child))) if child > 0 => {
                self.fork(owner, child, contains(end.arguments, b"CLONE_THREAD"), now);
            }
            (Effect::Exec, Some(_)) => self.rename(tid, end.arguments),
            (Effect::Comm, Some(_)) if end.arguments.starts_with(b"PR_SET_NAME") => {
                self.rename(tid, end.arguments);
            }
            _ => {}
        }
        Ok(None)
    }

    /// What is known of a thread's descriptor.
    pub fn file_of(&self, tid: i32, fd: i32) -> Descriptor {
        self.file(self.owner(tid), fd)
    }

    /// All threads as rows.
    pub fn finish(self, output: &mut Output) -> Result<()> {
        let mut table = output.table::<TracedThread>();
        for (tid, thread) in self.threads {
            table.push(&TracedThread {
                tid,
                tgid: thread.tgid,
                ppid: thread.ppid,
                comm: output.name(thread.comm.as_bytes())?,
                start_ns: thread.start_ns,
                end_ns: thread.end_ns,
                exit_code: thread.exit_code,
            })?;
        }
        table.finish()
    }

    fn owner(&self, tid: i32) -> i32 {
        self.threads.get(&tid).map_or(tid, |thread| thread.tgid)
    }

    fn fork(&mut self, owner: i32, child: i32, thread: bool, now: i64) {
        self.announce(child);
        let (comm, above) = self
            .threads
            .get(&owner)
            .map_or(("?".into(), 0), |parent| (parent.comm.clone(), parent.ppid));
        if self.threads.len() >= THREADS && !self.threads.contains_key(&child) {
            return;
        }
        let new = self.threads.entry(child).or_insert_with(|| Thread {
            start_ns: now,
            ..Thread::default()
        });
        new.tgid = if thread { owner } else { child };
        new.ppid = if thread { above } else { owner };
        if !new.named {
            new.comm = comm;
        }
        if !thread && self.files.len() < PROCESSES {
            let mut files = self.files.get(&owner).cloned().unwrap_or_default();
            if let Some(own) = self.files.get(&child) {
                files.extend(own);
            }
            self.files.insert(child, files);
        }
    }

    fn rename(&mut self, tid: i32, arguments: &[u8]) {
        let Some(text) = quoted(arguments) else {
            return;
        };
        let text = unescaped(text);
        let base = text.rsplit(|&b| b == b'/').next().unwrap_or_default();
        let comm = String::from_utf8_lossy(&base[..base.len().min(COMM_BYTES)]).into_owned();
        if let Some(thread) = self.threads.get_mut(&tid) {
            (thread.comm, thread.named) = (comm, true);
        }
    }

    /// Descriptors that are no file's: what they are of is known, not which one it is.
    fn make(&mut self, owner: i32, made: &[i32], by: &Call, output: &mut Output) -> Result<()> {
        let name = by.makes.map(|kind| format!("{kind}:[?]"));
        let path = match name {
            Some(name) => output.text(name.as_bytes())?,
            None => None,
        };
        for &fd in made {
            let durable = false;
            self.set(owner, fd, Descriptor { path, durable });
        }
        Ok(())
    }

    fn set(&mut self, owner: i32, fd: i32, of: Descriptor) {
        if self.files.len() < PROCESSES || self.files.contains_key(&owner) {
            let files = self.files.entry(owner).or_default();
            if files.len() < DESCRIPTORS || files.contains_key(&fd) {
                files.insert(fd, of);
            }
        }
    }

    fn forget(&mut self, owner: i32, fd: i32) {
        if let Some(files) = self.files.get_mut(&owner) {
            files.remove(&fd);
        }
    }

    fn file(&self, owner: i32, fd: i32) -> Descriptor {
        let found = self.files.get(&owner).and_then(|files| files.get(&fd));
        found.copied().unwrap_or_default()
    }
}
