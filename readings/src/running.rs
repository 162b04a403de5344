//! Whether anybody else is on a CPU or ready for one, now. To ask costs a few microseconds, which a look at every thread does not.

use crate::error::Result;
use crate::proc_file::ProcFile;
use crate::Roots;

/// /proc/loadavg, whose fourth word has the threads that are on a CPU or ready for one.
#[derive(Debug)]
pub struct Running(ProcFile);

impl Running {
    pub fn new(roots: &Roots) -> Result<Running> {
        ProcFile::open(roots.proc.join("loadavg")).map(Running)
    }

    /// Whether another thread than the one that asks is; None: not told.
    pub fn others(&mut self) -> Option<bool> {
        let text = self.0.read().ok()?;
        let word = text.bytes.split(|b| *b == b' ').nth(3)?;
        let (running, _) = std::str::from_utf8(word).ok()?.split_once('/')?;
        running.parse::<u32>().ok().map(|running| running > 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn others(loadavg: &str) -> Option<bool> {
        let proc = tempfile::tempdir().unwrap();
        std::fs::write(proc.path().join("loadavg"), loadavg).unwrap();
        let roots = Roots {
            proc: proc.path().to_owned(),
            sys: proc.path().to_owned(),
            ..Roots::default()
        };
        Running::new(&roots).unwrap().others()
    }

    #[test]
    fn who_asks_is_one_of_them() {
        assert_eq!(others("5.57 5.05 3.66 1/241 20113\n"), Some(false));
        assert_eq!(others("0.00 0.00 0.00 2/241 20113\n"), Some(true));
        assert_eq!(others("0.00 0.00 0.00 12/241 20113\n"), Some(true));
    }

    #[test]
    fn what_is_not_told_is_not_known() {
        for text in [
            "",
            "\n",
            "0.00 0.00 0.00",
            "0.00 0.00 0.00 241 20113\n",
            "0 0 0 x/241 1\n",
        ] {
            assert_eq!(others(text), None, "{text:?}");
        }
    }
}
