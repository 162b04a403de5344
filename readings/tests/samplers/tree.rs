//! Trees of known text.

use iowhy_readings::sampler::{Samplers, Scope};
use iowhy_readings::{Reading, Roots};

/// A made-up /proc and /sys.
pub struct Tree(tempfile::TempDir);

impl Tree {
    pub fn new() -> Tree {
        Tree(tempfile::tempdir().unwrap())
    }

    pub fn put(&self, path: &str, text: impl AsRef<[u8]>) -> &Tree {
        let path = self.0.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        self
    }

    pub fn at(&self, path: &str) -> String {
        self.0.path().join(path).display().to_string()
    }

    pub fn roots(&self) -> Roots {
        Roots {
            proc: self.0.path().join("proc"),
            sys: self.0.path().join("sys"),
            dev: self.0.path().join("dev"),
        }
    }

    pub fn samplers(&self) -> Samplers {
        Samplers::new(&self.roots(), Scope::default())
    }
}

/// One round of all samplers.
pub fn sample(samplers: &mut Samplers, now_ns: i64) -> Vec<Reading> {
    let mut all = Vec::new();
    samplers.sample(now_ns, &mut |reading| all.push(reading));
    all
}
