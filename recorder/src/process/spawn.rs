//! Starts the command: held at a gate until the programs watch it, as the user that it shall run as.
// long: fork, gate and exec are read together.

use std::collections::BTreeMap;
use std::ffi::{CString, OsStr, OsString};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Command, ExitStatus};
use std::sync::mpsc::{channel, Sender};
use std::time::{Duration, Instant};

use anyhow::{bail, Context, Result};
use nix::poll::{poll, PollFd, PollFlags};

use super::inherited::{self, Inherited};
use iowhy_readings::reach::Reach;
use iowhy_readings::sampler::process_io::ProcessIo;
use iowhy_readings::{accounts, host, names, Roots};
use iowhy_store::rows;

/// How long the command is looked for along PATH, and how often it is looked whether it still shall run.
const LOOKED_FOR: Duration = Duration::from_secs(10);
const LOOK_EVERY_MS: u16 = 250;

/// What becomes of the command.
#[derive(Debug)]
pub enum Fate {
    /// It could not be run.
    Failed(io::Error),
    /// It ended; `io` is the last reading of its /proc/PID/io.
    Ended {
        status: ExitStatus,
        at_ns: i64,
        io: Option<rows::ProcessIo>,
    },
    /// The recorder was asked to end (signals.rs).
    Asked,
}

/// A command that waits at its gate.
pub struct Held {
    pub pid: u32,
    gate: std::fs::File,
}

impl Held {
    /// Waits a little until it sleeps at its gate: the call that it waits in there is not the command's.
    pub fn settle(&self) {
        for _ in 0..5000 {
            let status = std::fs::read(format!("/proc/{}/status", self.pid)).unwrap_or_default();
            let runs = b"State:\tR";
            if !status
                .split(|&byte| byte == b'\n')
                .any(|line| line.starts_with(runs))
            {
                return;
            }
            std::thread::sleep(std::time::Duration::from_micros(200));
        }
    }

    /// Lets it run its program.
    pub fn release(mut self) {
        let _ = self.gate.write_all(&[1]);
    }
}

/// Who the command runs as.
#[derive(Clone, Debug)]
pub struct Account {
    entry: accounts::Account,
    groups: Vec<libc::gid_t>,
}

impl Account {
    /// The user of this name and the groups that they are in.
    pub fn of(name: &str) -> Result<Account> {
        let found = accounts::by_name(name).with_context(|| format!("--user {name}"))?;
        let Some(entry) = found else {
            bail!("--user {name}: there is no such user");
        };
        let own = nix::unistd::geteuid();
        if !own.is_root() && own.as_raw() != entry.uid {
            bail!("--user {name}: only root can run a command as another user");
        }
        let groups = accounts::groups_of(&entry)
            .with_context(|| format!("cannot list the groups of {name}"))?;
        Ok(Account { entry, groups })
    }
}

/// What exec needs, made before fork. The command is looked for along PATH before it is watched: otherwise each
/// place where it is not would be a failed execve of the command's own, ten before it has begun.
struct Image {
    places: Vec<CString>,
    argv: Vec<*const libc::c_char>,
    environment: Vec<*const libc::c_char>,
    /// What these point into.
    _words: [Vec<CString>; 2],
}

// SAFETY: nobody changes the strings that the pointers point into, and they live as long.
unsafe impl Send for Image {}
// SAFETY: as above.
unsafe impl Sync for Image {}

impl Image {
    fn of(argv: &[OsString], command: &Command) -> Result<Image> {
        let mut variables: BTreeMap<OsString, OsString> = std::env::vars_os().collect();
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => variables.insert(name.to_owned(), value.to_owned()),
                None => variables.remove(name),
            };
        }
        // A name with a slash is a path already; an empty place is the folder where one is.
        let name = argv[0].as_bytes();
        let path = variables.get(OsStr::new("PATH"));
        let path = path.filter(|_| !name.is_empty() && !name.contains(&b'/'));
        let places = path
            .into_iter()
            .flat_map(|path| path.as_bytes().split(|&c| c == b':'))
            .map(|folder| match folder {
                b"" => CString::new(name),
                _ => CString::new([folder, b"/", name].concat()),
            })
            .collect::<Result<_, _>>()?;
        let argv: Vec<CString> = argv
            .iter()
            .map(|word| CString::new(word.as_bytes()))
            .collect::<Result<_, _>>()?;
        let environment: Vec<CString> = variables
            .iter()
            .map(|(name, value)| CString::new([name.as_bytes(), b"=", value.as_bytes()].concat()))
            .collect::<Result<_, _>>()?;
        let pointers = |words: &[CString]| {
            let all = words.iter().map(|word| word.as_ptr());
            all.chain([std::ptr::null()]).collect()
        };
        Ok(Image {
            places,
            argv: pointers(&argv),
            environment: pointers(&environment),
            _words: [argv, environment],
        })
    }

    /// The first place with something that may be run; safe after fork.
    fn find(&self) -> Option<&CString> {
        // SAFETY: the path is a string that ends with a zero byte.
        let may_run = |path: &&CString| unsafe { libc::access(path.as_ptr(), libc::X_OK) == 0 };
        self.places.iter().find(may_run)
    }

    /// Becomes that program; returns when it cannot. Safe after fork.
    fn execute(&self, path: &CString) {
        // SAFETY: both lists end with a null pointer, and what they point to lives as long as `self`.
        unsafe {
            libc::execve(path.as_ptr(), self.argv.as_ptr(), self.environment.as_ptr());
        }
    }
}

// long: what may be done between fork and exec is decided here, in one place.
/// Forks the command and holds it before exec; None: `leave` came true meanwhile. `fates` gets one message: how it ended, or why it
/// cannot run.
pub fn hold(
    argv: &[OsString],
    account: Option<&Account>,
    inherited: Inherited,
    fates: Sender<Fate>,
    leave: &dyn Fn() -> bool,
) -> Result<Option<Held>> {
    let (gate_end, gate) = nix::unistd::pipe2(nix::fcntl::OFlag::O_CLOEXEC)?;
    let (pid_end, pid_pipe) = nix::unistd::pipe2(nix::fcntl::OFlag::O_CLOEXEC)?;
    let mut command = Command::new(&argv[0]);
    command.args(&argv[1..]);
    // Meant for this recorder alone, not for one that the command starts.
    command.env_remove(super::lifeline::VARIABLE);
    command.env_remove(super::owner::VARIABLE);
    command.env_remove(inherited::VARIABLE);
    let ids = account.map(|a| (a.entry.uid, a.entry.gid, a.groups.clone()));
    if let Some(account) = account {
        command
            .env("HOME", &account.entry.home)
            .env("SHELL", &account.entry.shell);
        command
            .env("USER", &account.entry.name)
            .env("LOGNAME", &account.entry.name);
    }
    let (gate_fd, pid_fd) = (gate_end.as_raw_fd(), pid_pipe.as_raw_fd());
    let own_gate_fd = gate.as_raw_fd();
    // Who runs as that user already may not change groups, and need not.
    let ids = ids.filter(|(uid, _, _)| *uid != nix::unistd::geteuid().as_raw());
    let image = Image::of(argv, &command)?;
    // SAFETY: between fork and exec only calls that are safe there: no memory is taken, no lock.
    unsafe {
        command.pre_exec(move || {
            // Its copy of the end that opens the gate, which would keep it from seeing that the recorder is gone.
            libc::close(own_gate_fd);
            if let Some((uid, gid, groups)) = &ids {
                let done = libc::setgroups(groups.len(), groups.as_ptr()) == 0
                    && libc::setgid(*gid) == 0
                    && libc::setuid(*uid) == 0;
                if !done {
                    return Err(io::Error::last_os_error());
                }
            }
            inherited.restore()?;
            let pid = libc::getpid().to_ne_bytes();
            libc::write(pid_fd, pid.as_ptr().cast(), pid.len());
            let found = image.find();
            let mut byte = [0u8; 1];
            libc::write(pid_fd, byte.as_ptr().cast(), byte.len());
            // No byte: the recorder is gone. Run nothing unwatched.
            if libc::read(gate_fd, byte.as_mut_ptr().cast(), 1) != 1 {
                libc::_exit(crate::session::BROKEN);
            }
            // Returns when it cannot be run as it is: a script without #!, or not found. Then the usual way,
            // which knows what to do and what to say, is taken.
            if let Some(path) = found {
                image.execute(path);
            }
            Ok(())
        });
    }
    let (forked, ended_early) = channel();
    std::thread::Builder::new()
        .name("iowhy-command".into())
        .spawn(move || {
            let fate = run(command, gate_end, pid_pipe, forked);
            let _ = fates.send(fate);
        })?;
    let pid = match at_gate(pid_end.into(), leave) {
        Ok(AtGate::Waits(pid)) => pid,
        Ok(AtGate::Left) => return Ok(None),
        Ok(AtGate::NotFound(place)) => bail!(
            "{} is looked for in PATH, and {place} does not answer; give the command's path",
            names::escaped(argv[0].as_encoded_bytes())
        ),
        // A signal to the whole group (Ctrl-C) ended it before it could say its number: it is a command that has ended.
        Err(error) => ended_early
            .recv()
            .map_err(|_| error)
            .context("the command could not be forked")?,
    };
    Ok(Some(Held {
        pid,
        gate: std::fs::File::from(gate),
    }))
}

/// What has become of the child on its way to the gate.
enum AtGate {
    Waits(u32),
    Left,
    /// A place along PATH that did not answer.
    NotFound(String),
}

/// The child says its number, and once more when it has looked along PATH, where a filesystem may keep it for ever.
fn at_gate(mut from: std::fs::File, leave: &dyn Fn() -> bool) -> io::Result<AtGate> {
    let mut pid = [0u8; 4];
    from.read_exact(&mut pid)?;
    let pid = u32::from_ne_bytes(pid);
    let until = Instant::now() + LOOKED_FOR;
    let waits = |from: &std::fs::File| {
        let mut one = [PollFd::new(from.as_fd(), PollFlags::POLLIN)];
        poll(&mut one, LOOK_EVERY_MS).is_ok_and(|ready| ready == 0)
    };
    while waits(&from) {
        let left = leave();
        if left || Instant::now() >= until {
            let held = Reach::new(&Roots::default()).thread(pid.into(), pid.into());
            // SAFETY: kill takes no memory. Where it waits beyond the reach of signals it ends when it is answered.
            unsafe { libc::kill(pid as i32, libc::SIGKILL) };
            let [place, _] = held.unwrap_or_default().paths;
            let name = |place: PathBuf| names::escaped(place.as_os_str().as_bytes());
            let place = place.map_or_else(|| "a directory".into(), name);
            return Ok(if left {
                AtGate::Left
            } else {
                AtGate::NotFound(place)
            });
        }
    }
    from.read_exact(&mut [0u8])?;
    Ok(AtGate::Waits(pid))
}

fn run(mut command: Command, gate_end: OwnedFd, pid_pipe: OwnedFd, forked: Sender<u32>) -> Fate {
    let spawned = command.spawn();
    drop((gate_end, pid_pipe));
    if let Ok(child) = &spawned {
        let _ = forked.send(child.id());
    }
    drop(forked);
    match spawned {
        Err(error) => Fate::Failed(error),
        Ok(mut child) => {
            let (at_ns, io) = ended(child.id());
            match child.wait() {
                Err(error) => Fate::Failed(error),
                Ok(status) => Fate::Ended { status, at_ns, io },
            }
        }
    }
}

/// Waits for a process to end, and reads what is left of it before it is reaped.
fn ended(pid: u32) -> (i64, Option<rows::ProcessIo>) {
    use nix::sys::wait::{waitid, Id, WaitPidFlag};
    let pid = pid as i32;
    let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT;
    while waitid(Id::Pid(nix::unistd::Pid::from_raw(pid)), flags) == Err(nix::Error::EINTR) {}
    let at_ns = host::now_ns();
    let io = ProcessIo::new(&Roots::default())
        .ok()
        .and_then(|mut process_io| {
            process_io.sample(at_ns, [i64::from(pid)]).ok()?;
            process_io.take(i64::from(pid))
        });
    (at_ns, io)
}

/// The exit status that a shell would give: the command's own, or 128 + the signal that killed it.
pub fn shell_status(status: ExitStatus) -> i32 {
    status
        .code()
        .unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
}

/// The message and exit status of a command that cannot be run, as shells give them.
pub fn not_run(name: &OsString, error: &io::Error) -> (String, i32) {
    let name = names::escaped(name.as_encoded_bytes());
    match error.kind() {
        io::ErrorKind::NotFound => (
            format!("command not found: {name}; check its name, or give its path"),
            127,
        ),
        _ => (format!("cannot run {name}: {error}"), 126),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    fn unchanged() -> Inherited {
        Inherited::from_caller().unwrap()
    }

    fn held(argv: &[OsString], fates: Sender<Fate>) -> Held {
        hold(argv, None, unchanged(), fates, &|| false)
            .unwrap()
            .unwrap()
    }

    fn fate_of(argv: &[&str]) -> Fate {
        let (sender, receiver) = channel();
        let argv: Vec<OsString> = argv.iter().map(OsString::from).collect();
        held(&argv, sender).release();
        receiver.recv().unwrap()
    }

    #[test]
    fn a_command_runs_only_when_it_is_let() {
        let (sender, receiver) = channel();
        let held = held(&["true".into()], sender);
        assert!(receiver
            .recv_timeout(std::time::Duration::from_millis(50))
            .is_err());
        held.release();
        assert!(matches!(receiver.recv().unwrap(), Fate::Ended { status, .. } if status.success()));
    }

    #[test]
    fn a_command_whose_recorder_is_gone_does_not_run() {
        let (sender, receiver) = channel();
        drop(held(&["true".into()], sender));
        // The end of the gate is seen in place of the word to go.
        let Fate::Ended { status, .. } = receiver.recv().unwrap() else {
            panic!()
        };
        assert_eq!(shell_status(status), 125);
    }

    #[test]
    fn statuses_are_those_of_a_shell() {
        let Fate::Ended { status, .. } = fate_of(&["sh", "-c", "exit 7"]) else {
            panic!()
        };
        assert_eq!(shell_status(status), 7);
        let Fate::Ended { status, .. } = fate_of(&["sh", "-c", "kill -TERM $$"]) else {
            panic!()
        };
        assert_eq!(shell_status(status), 143);
    }

    #[test]
    fn a_command_that_cannot_run_is_reported_as_a_shell_does() {
        let Fate::Failed(error) = fate_of(&["no such command"]) else {
            panic!()
        };
        assert_eq!(
            not_run(&"no such command".into(), &error),
            (
                "command not found: no such command; check its name, or give its path".to_owned(),
                127
            )
        );
        let Fate::Failed(error) = fate_of(&["/etc/passwd"]) else {
            panic!()
        };
        assert_eq!(not_run(&"/etc/passwd".into(), &error).1, 126);
    }
}
