//! Names read in a process of its own, which may take only so much memory: a file made for that would take all of a machine's, and
//! one that ends the process costs its own names alone.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::{AsRawFd, FromRawFd, RawFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::bound::TIMES_AS_LONG;
use crate::room::MEMORY_MOST_BYTES;
use crate::work::{self, Part, Said};
use crate::{sandbox, Kind, Module, Names, Wanted};

/// The word by which this very program is told to be that process: it then calls `serve`.
pub const COMMAND: &str = "read-names";
/// A process is begun anew after one file that ended it, and after that no more often.
const FILES_MOST: usize = 16;
/// It ends by itself when its time is up; one that then waits for a disk is not waited for.
const GRACE: Duration = Duration::from_millis(200);

#[derive(Serialize, Deserialize)]
struct Request {
    most: Duration,
    begun: Vec<(Part, i64)>,
    modules: Vec<One>,
}

/// A module of which the files are those that the process was given.
#[derive(Serialize, Deserialize)]
struct One {
    id: i64,
    path: Vec<u8>,
    build_id: Option<String>,
    kind: Kind,
    file: Option<RawFd>,
    root: Option<RawFd>,
    process: Option<(i32, u32)>,
    lines: bool,
    addresses: Vec<u64>,
}

/// As `name` does; a module whose names end the process is `too_large`.
pub fn name(wanted: &Wanted, most: Duration) -> Names {
    let began = Instant::now();
    let mut names = Names::default();
    let mut begun = HashSet::new();
    let mut ended = 0;
    while ended < FILES_MOST {
        let left = (TIMES_AS_LONG * most).saturating_sub(began.elapsed()) / TIMES_AS_LONG;
        if left.is_zero() {
            break;
        }
        let Ok(mut child) = begin(wanted, &begun, left) else {
            break;
        };
        let Some(last) = listen(&mut child, left, &mut begun, &mut names) else {
            break;
        };
        names.too_large.insert(last.1);
        ended += 1;
    }
    names
}

/// Starts the process and tells it what is wanted.
fn begin(wanted: &Wanted, begun: &HashSet<(Part, i64)>, most: Duration) -> io::Result<Child> {
    let given: Vec<RawFd> = wanted
        .iter()
        .flat_map(|(_, module, _)| [&module.file, &module.root])
        .filter_map(|file| Some(file.as_ref()?.as_raw_fd()))
        .collect();
    let request = Request {
        most,
        begun: begun.iter().copied().collect(),
        modules: wanted.iter().map(One::of).collect(),
    };
    let request = serde_json::to_vec(&request)?;
    let mut command = Command::new("/proc/self/exe");
    command
        .arg(COMMAND)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        // Ctrl-C is for the command that is recorded, and for who records it.
        .process_group(0);
    // SAFETY: between fork and exec only system calls are made.
    unsafe { command.pre_exec(move || confine(&given)) };
    let mut child = command.spawn()?;
    // One that has ended meanwhile says so by the end of what it writes.
    let _ = child.stdin.take().map(|mut to| to.write_all(&request));
    Ok(child)
}

/// What the process may take; it ends with its parent, leaves no core file, and is given the files.
fn confine(given: &[RawFd]) -> io::Result<()> {
    // SAFETY: plain system calls on numbers, and on a structure of our own.
    let call = |result: i32| match result {
        0.. => Ok(()),
        _ => Err(io::Error::last_os_error()),
    };
    for (resource, most) in [(libc::RLIMIT_AS, MEMORY_MOST_BYTES), (libc::RLIMIT_CORE, 0)] {
        let mut limit = libc::rlimit {
            rlim_cur: 0,
            rlim_max: 0,
        };
        call(unsafe { libc::getrlimit(resource, &mut limit) })?;
        limit.rlim_max = limit.rlim_max.min(most);
        limit.rlim_cur = limit.rlim_max;
        call(unsafe { libc::setrlimit(resource, &limit) })?;
    }
    call(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) })?;
    for file in given {
        call(unsafe { libc::fcntl(*file, libc::F_SETFD, 0) })?;
    }
    Ok(())
}

/// Takes what the process says until it ends; what it was at where it ended by no will of its own.
fn listen(
    child: &mut Child,
    most: Duration,
    begun: &mut HashSet<(Part, i64)>,
    names: &mut Names,
) -> Option<(Part, i64)> {
    let from = BufReader::new(child.stdout.take()?);
    let (send, receive) = mpsc::channel();
    std::thread::spawn(move || {
        for line in from.lines().map_while(Result::ok) {
            let Ok(said) = serde_json::from_str::<Said>(&line) else {
                return;
            };
            if send.send(said).is_err() {
                return;
            }
        }
    });
    let end = Instant::now() + TIMES_AS_LONG * most + GRACE;
    let mut last = None;
    loop {
        match receive.recv_timeout(end.saturating_duration_since(Instant::now())) {
            Ok(Said::Begun(part, id)) => {
                begun.insert((part, id));
                last = Some((part, id));
            }
            Ok(said) => names.take(said),
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {
                let _ = child.kill();
                return None;
            }
        }
    }
    match child.wait() {
        Ok(status) if !status.success() => last,
        _ => None,
    }
}

/// What the process does that `begin` starts.
pub fn serve() -> io::Result<()> {
    let request: Request = serde_json::from_reader(io::stdin().lock())?;
    let wanted = request.modules.into_iter().map(One::wanted).collect();
    let begun = request.begun.into_iter().collect();
    // What the kernel refuses to bind still has its limits, and reads what it is given.
    let _ = sandbox::enter();
    // It is said by the thread that does it: what ends the process ends it after that.
    work::name_each(wanted, begun, request.most, |said| {
        let Ok(mut line) = serde_json::to_vec(&said) else {
            return false;
        };
        line.push(b'\n');
        let mut out = io::stdout().lock();
        out.write_all(&line).and_then(|()| out.flush()).is_ok()
    });
    Ok(())
}

impl One {
    fn of((id, module, addresses): &(i64, Module, Vec<u64>)) -> One {
        let number = |file: &Option<File>| Some(file.as_ref()?.as_raw_fd());
        One {
            id: *id,
            path: module.path.as_os_str().as_bytes().to_vec(),
            build_id: module.build_id.clone(),
            kind: module.kind,
            file: number(&module.file),
            root: number(&module.root),
            process: module.process,
            lines: module.lines,
            addresses: addresses.clone(),
        }
    }

    fn wanted(self) -> (i64, Module, Vec<u64>) {
        // SAFETY: these were given to this process for this, each once.
        let file = |number: RawFd| unsafe { File::from_raw_fd(number) };
        let module = Module {
            path: OsString::from_vec(self.path).into(),
            build_id: self.build_id,
            kind: self.kind,
            file: self.file.map(file),
            root: self.root.map(file),
            process: self.process,
            lines: self.lines,
        };
        (self.id, module, self.addresses)
    }
}
