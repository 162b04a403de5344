//! Says to whoever attached the recorder, to itself most of all, and to the user, that from now on everything is recorded.

use std::fs::File;
use std::io::Write;
use std::os::fd::FromRawFd;

use iowhy_readings::messages;

/// Names the descriptor that a byte is written to, once; it is closed after that.
pub const VARIABLE: &str = "IOWHY_READY";

/// What is written for the user then, where a caller has words for it: they are true from then on, and not where there was
/// nothing to record.
pub const WORDS: &str = "IOWHY_SAY";

/// Writes the byte and the words, where somebody waits for them.
pub fn say() {
    if let Ok(words) = std::env::var(WORDS) {
        messages::say(&words);
    }
    let named = std::env::var(VARIABLE).ok().and_then(|v| v.parse().ok());
    if let Some(descriptor) = named.filter(|&number: &i32| number > 2) {
        // SAFETY: the caller hands this descriptor over for this use alone; nothing else here knows of it.
        let mut file = unsafe { File::from_raw_fd(descriptor) };
        // Nobody who waits is no reason not to record.
        let _ = file.write_all(b"\n");
    }
}
