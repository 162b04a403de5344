//! The pipe by which whoever started the recorder holds it: however they end, its other end is closed, and so is the recording.

use std::cell::Cell;
use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::fd::{AsFd, FromRawFd, RawFd};
use std::os::unix::fs::OpenOptionsExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

use anyhow::{Context, Result};
use nix::fcntl::{fcntl, FcntlArg, FdFlag, OFlag};
use nix::unistd::{getsid, Pid};

use iowhy_readings::host;

/// Names the end that the recorder reads: the number of an open file, or the path of a named pipe. Without it a recorder is
/// on its own.
pub const VARIABLE: &str = "IOWHY_LIFELINE";

/// What may be written to it: that the recording ends now, and that from now on it goes on when nobody holds the other end.
const END: u8 = b'e';
const KEEP: u8 = b'k';

/// Until a request to end is repeated in stronger words, and until the recording ends without the command.
const PATIENCE_NS: i64 = 2_000_000_000;

/// What the recorder knows of the other end.
#[derive(Debug, Default)]
pub struct Lifeline {
    cut: Arc<AtomicBool>,
    /// When the command was asked to end, and how often.
    asked_to_end: Cell<(i64, u32)>,
}

impl Lifeline {
    /// As the environment says. Signals are blocked before: its thread takes none.
    pub fn named() -> Result<Lifeline> {
        let lifeline = Lifeline::default();
        if let Some(named) = std::env::var_os(VARIABLE) {
            let end =
                open(&named).with_context(|| format!("{VARIABLE}={}", named.to_string_lossy()))?;
            let cut = Arc::clone(&lifeline.cut);
            std::thread::Builder::new()
                .name("iowhy-lifeline".into())
                .spawn(move || {
                    if ends(end) {
                        cut.store(true, Ordering::SeqCst);
                    }
                })?;
        }
        Ok(lifeline)
    }

    /// Whether the recording is to end.
    pub fn is_cut(&self) -> bool {
        self.cut.load(Ordering::SeqCst)
    }

    /// Once it is cut: ends the command as Ctrl-C would, a while later as kill would. True when neither helped.
    pub fn outlived_by(&self, alive: &[i64]) -> bool {
        if !self.is_cut() {
            return false;
        }
        let (at_ns, times) = self.asked_to_end.get();
        let now = host::now_ns();
        if times > 0 && now < at_ns + PATIENCE_NS {
            return false;
        }
        let signal = match times {
            0 => libc::SIGINT,
            1 => libc::SIGTERM,
            _ => return true,
        };
        self.asked_to_end.set((now, times + 1));
        for pid in alive.iter().filter_map(|&pid| i32::try_from(pid).ok()) {
            // What made itself a session of its own, no key press reaches.
            if pid > 1 && getsid(Some(Pid::from_raw(pid))) == getsid(None) {
                // SAFETY: kill takes no memory.
                unsafe { libc::kill(pid, signal) };
            }
        }
        false
    }
}

/// The end to read, which no process that is started from here inherits.
fn open(named: &OsStr) -> io::Result<File> {
    let number: Option<RawFd> = named.to_str().and_then(|text| text.parse().ok());
    let Some(number) = number else {
        // To open it waits for nobody; to read it does.
        let file = OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_NONBLOCK)
            .open(named)?;
        fcntl(file.as_fd(), FcntlArg::F_SETFL(OFlag::empty()))?;
        return Ok(file);
    };
    // SAFETY: fcntl takes no memory.
    if number < 3 || unsafe { libc::fcntl(number, libc::F_GETFD) } < 0 {
        return Err(io::ErrorKind::NotFound.into());
    }
    // SAFETY: the caller hands this descriptor over for this use alone; nothing else here knows of it.
    let file = unsafe { File::from_raw_fd(number) };
    fcntl(file.as_fd(), FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC))?;
    Ok(file)
}

/// Waits for what becomes of the other end: true when the recording is to end, false when it is on its own.
fn ends(mut end: impl Read) -> bool {
    let (mut kept, mut word) = (false, [0]);
    loop {
        match end.read(&mut word) {
            Ok(0) => return !kept,
            Ok(_) if word[0] == END => return true,
            Ok(_) => kept |= word[0] == KEEP,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_recorder_on_its_own_is_held_by_nobody() {
        let own = Lifeline::default();
        assert!(!own.is_cut() && !own.outlived_by(&[]));
    }

    #[test]
    fn it_ends_when_asked_or_when_nobody_holds_it_unless_it_was_let_go() {
        for (said, expected) in [(&b""[..], true), (b"e", true), (b"k", false), (b"ke", true)] {
            assert_eq!(ends(said), expected, "{said:?}");
        }
    }

    #[test]
    fn a_named_pipe_whose_writer_is_gone_is_cut() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("alive");
        nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
        let open_here = || open(path.as_os_str()).unwrap();
        assert!(ends(open_here()), "nobody has opened it");
        let mut writer = OpenOptions::new()
            .read(true)
            .write(true)
            .open(&path)
            .unwrap();
        writer.write_all(b"k").unwrap();
        let reader = open_here();
        let waiting = std::thread::spawn(move || ends(reader));
        drop(writer);
        assert!(!waiting.join().unwrap());
        assert!(open(OsStr::new("99999")).is_err(), "not an open file");
    }

    #[test]
    fn who_ignores_all_requests_is_left() {
        let lost = Lifeline::default();
        lost.cut.store(true, Ordering::SeqCst);
        assert!(!lost.outlived_by(&[]));
        assert_eq!(lost.asked_to_end.get().1, 1);
        assert!(!lost.outlived_by(&[]), "not before its time");
        lost.asked_to_end.set((0, 2));
        assert!(lost.outlived_by(&[]));
    }
}
