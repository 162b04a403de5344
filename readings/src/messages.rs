//! What is said to the user on stderr.

use std::io::Write;

use crate::names::visible;

/// One line on stderr. Where nobody can read it (a full disk, a pipe that was closed, which `eprintln!` would panic
/// for) it is not said: what is recorded, and how the command ends, does not depend on that.
pub fn say(message: &str) {
    write(std::io::stderr(), message);
}

fn write(mut to: impl Write, message: &str) {
    let _ = to.write_all(format!("iowhy: {}\n", visible(message)).as_bytes());
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
}
