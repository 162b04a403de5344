//! What is said to the user on stderr.

use std::io::Write;

use crate::names::visible;

/// One line on stderr. Where nobody can read it (a full disk, a pipe that was closed, which `eprintln!` would panic
/// for) it is not said: what is recorded, and how the command ends, does not depend on that.
pub fn say(message: &str) {
    write(std::io::stderr(), message);
}

fn write(mut to: impl Write, message: &str) {
    let _ = to.write_all(format!("iowhy: {}\n", visible(&plain(message))).as_bytes());
}

/// Without `(os error 2)`, which Rust puts behind the words of each error of the system.
fn plain(message: &str) -> String {
    let mut parts = message.split(" (os error ");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |said, part| {
        said + part.split_once(')').map_or(part, |(_, rest)| rest)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_written_is_no_panic_and_all_else_is_one_visible_line() {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full");
        write(full.unwrap(), "lost");
        let mut said = Vec::new();
        write(&mut said, "a\x1b[31mb");
        assert_eq!(said, b"iowhy: a\\x1b[31mb\n");
    }

    #[test]
    fn the_systems_numbers_of_errors_are_not_said() {
        let of = std::io::Error::from_raw_os_error;
        let said = plain(&format!("a: {}; b: {}; c", of(2), of(13)));
        assert_eq!(
            said,
            "a: No such file or directory; b: Permission denied; c"
        );
    }
}
