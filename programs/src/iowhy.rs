//! `iowhy`: notes which signals its caller ignored, and becomes the command line, which is Python.
//!
//! Python ignores SIGPIPE and SIGXFSZ before a line of ours runs, and so does the runtime of Rust with SIGPIPE;
//! that one would also open closed standard streams. So this is a plain `main` without a runtime, as C has it.
#![no_main]

use std::ffi::{c_char, c_int, CString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use iowhy_readings::names::visible;
use iowhy_recorder::process::inherited;

/// The script beside this program whose first line the installer made name its Python.
const SCRIPT: &str = "iowhy-cli";

/// Exit status when iowhy cannot do what it was asked for.
const BROKEN: c_int = 2;

/// # Safety
/// The C library calls it, with the words of the command line and a null pointer behind the last.
#[no_mangle]
pub unsafe extern "C" fn main(_argc: c_int, argv: *const *const c_char) -> c_int {
    match inherited::listed() {
        none if none.is_empty() => std::env::remove_var(inherited::VARIABLE),
        ignored => std::env::set_var(inherited::VARIABLE, ignored),
    }
    let script = match std::env::current_exe() {
        Ok(own) => own.with_file_name(SCRIPT),
        Err(error) => return broken(&format!("/proc/self/exe cannot be read: {error}")),
    };
    if let Ok(path) = CString::new(script.as_os_str().as_bytes()) {
        // SAFETY: both are as execve(2) wants them: a string, and the list that this program itself was given.
        unsafe { libc::execv(path.as_ptr(), argv) };
    }
    let error = std::io::Error::last_os_error();
    broken(&why_not(&script, &error))
}

/// Why the script did not start, and what to do. What this user may not run is there: to install it again changes nothing.
fn why_not(script: &Path, error: &std::io::Error) -> String {
    let name = visible(&script.to_string_lossy());
    if error.kind() != std::io::ErrorKind::PermissionDenied {
        return format!(
            "{name} cannot be run: {error}; `pip install --force-reinstall iowhy` brings it back"
        );
    }
    let text = std::fs::read_to_string(script).unwrap_or_default();
    let python = text.lines().next().and_then(|line| line.strip_prefix("#!"));
    let what = python.map_or(name.clone(), |python| {
        format!("{name}, or its Python ({})", visible(python.trim()))
    });
    format!("this user may not run {what}; install iowhy with a Python that every user may run, such as /usr/bin/python3")
}

fn broken(message: &str) -> c_int {
    use std::io::Write;
    // A closed stderr is no reason to panic.
    let _ = writeln!(std::io::stderr(), "iowhy: {message}");
    BROKEN
}
