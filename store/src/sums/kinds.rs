//! What a call or a reason of a wait is, by its name, as `call_kinds` and `wait_kinds` have it (iowhy-tables).

use iowhy_tables::calls::{self, Kind};

use crate::rows::Name;

/// What a call is to syncs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Call {
    Syncs,
    Writes,
    /// Copies from file to file.
    Copies,
    #[default]
    Other,
}

/// What a wait says of the call that it is in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wait {
    /// For a flush of the device.
    pub flushes: bool,
}

/// What is known of names that were met; they are few, and come again in runs.
#[derive(Debug, Default)]
pub struct Known<T> {
    met: Vec<(Name, T)>,
}

impl<T: Copy + for<'a> From<&'a str>> Known<T> {
    #[inline]
    pub fn get(&mut self, name: &Name) -> T {
        let found = self.met.iter().position(|(met, _)| same(met, name));
        let place = found.unwrap_or_else(|| {
            self.met.truncate(MOST_MET - 1);
            self.met.push((name.clone(), T::from(name)));
            self.met.len() - 1
        });
        let value = self.met[place].1;
        // What comes often stands in front.
        self.met.swap(place, place / 2);
        value
    }
}

/// Names kept: all of the calls that get rows.
const MOST_MET: usize = 128;

/// Static names mostly lie at one place.
#[inline]
fn same(a: &str, b: &str) -> bool {
    a.len() == b.len() && (a.as_ptr() == b.as_ptr() || a == b)
}

impl From<&str> for Call {
    fn from(name: &str) -> Call {
        match calls::by_name(name.as_bytes()).and_then(|call| call.kind) {
            Some(Kind::Sync) => Call::Syncs,
            Some(Kind::Write) => Call::Writes,
            Some(Kind::Copy) => Call::Copies,
            _ => Call::Other,
        }
    }
}

impl From<&str> for Wait {
    fn from(reason: &str) -> Wait {
        Wait {
            flushes: matches!(reason, "device_flush" | "journal_commit" | "log_force"),
        }
    }
}
