//! Small deterministic programs that do a known amount of I/O in a known pattern.
//!
//! Each prints one line of JSON: what it did (counts, bytes) and how long it took (seconds). They are what the
//! lab's scenarios run where no real program does exactly that, and what tests hold a recorder's
//! counts against.

mod calls;
mod convoy;
mod idle;
mod passes;
mod random;
mod randread;
mod regions;
mod seqwrite;
mod smallfiles;
mod spin;
mod threads;

use std::process::ExitCode;
use std::time::Instant;

use anyhow::Result;
use clap::{Parser, Subcommand};
use serde_json::{json, Value};

/// A program with a known answer; prints what it did as one line of JSON.
#[derive(Parser, Debug)]
#[command(name = "iowhy-work", version)]
struct Options {
    #[command(subcommand)]
    program: Program,
}

#[derive(Subcommand, Debug)]
enum Program {
    Regions(regions::Options),
    Passes(passes::Options),
    Smallfiles(smallfiles::Options),
    Convoy(convoy::Options),
    Randread(randread::Options),
    Seqwrite(seqwrite::Options),
    Spin(spin::Options),
    Idle(idle::Options),
    Calls(calls::Options),
    Threads(threads::Options),
}

impl Program {
    fn run(&self) -> (&'static str, Result<Value>) {
        match self {
            Self::Regions(options) => ("regions", regions::run(options)),
            Self::Passes(options) => ("passes", passes::run(options)),
            Self::Smallfiles(options) => ("smallfiles", smallfiles::run(options)),
            Self::Convoy(options) => ("convoy", convoy::run(options)),
            Self::Randread(options) => ("randread", randread::run(options)),
            Self::Seqwrite(options) => ("seqwrite", seqwrite::run(options)),
            Self::Spin(options) => ("spin", spin::run(options)),
            Self::Idle(options) => ("idle", idle::run(options)),
            Self::Calls(options) => ("calls", calls::run(options)),
            Self::Threads(options) => ("threads", threads::run(options)),
        }
    }
}

/// The program `iowhy-work`.
pub fn main() -> ExitCode {
    let options = Options::parse();
    let start = Instant::now();
    let (name, did) = options.program.run();
    match did {
        Ok(Value::Object(mut did)) => {
            did.insert("program".into(), json!(name));
            did.insert("seconds".into(), json!(start.elapsed().as_secs_f64()));
            println!("{}", Value::Object(did));
            ExitCode::SUCCESS
        }
        Ok(other) => unreachable!("{name} reports {other}, not an object"),
        Err(error) => {
            eprintln!("iowhy-work {name}: {error:#}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// Runs a program as the command line would; `DIR` stands for the folder.
    fn did(folder: &Path, line: &str) -> Value {
        let line = line.replace("DIR", folder.to_str().expect("a plain path"));
        let words = std::iter::once("iowhy-work").chain(line.split_whitespace());
        let options = Options::try_parse_from(words).expect("known options");
        options.program.run().1.expect("the program succeeds")
    }

    fn bytes(path: &Path) -> u64 {
        path.metadata().expect("the file is there").len()
    }

    #[test]
    fn regions_are_written_once_each_and_hold_no_zeros() {
        let folder = tempfile::tempdir().unwrap();
        let line = "regions --file DIR/f --size 1M --region 64K --threads 3 --sync-bytes 16K";
        let did = did(folder.path(), line);
        assert_eq!((&did["regions"], &did["msyncs"]), (&json!(16), &json!(64)));
        let written = std::fs::read(folder.path().join("f")).unwrap();
        assert_eq!(written.len(), 1 << 20);
        let pages = written.chunks(4096);
        assert!(pages
            .into_iter()
            .all(|page| page.iter().any(|byte| *byte != 0)));
    }

    #[test]
    fn regions_refuse_a_sync_that_does_not_divide_them() {
        let options = Options::try_parse_from([
            "iowhy-work",
            "regions",
            "--file",
            "/nonexistent/f",
            "--sync-bytes",
            "5000",
        ]);
        let error = options.unwrap().program.run().1.unwrap_err();
        assert!(error.to_string().contains("--sync-bytes"), "{error}");
    }

    #[test]
    fn passes_read_every_byte_each_time_in_whichever_order() {
        let folder = tempfile::tempdir().unwrap();
        did(
            folder.path(),
            "seqwrite --file DIR/f --bytes 1M --block 64K",
        );
        let whole = did(
            folder.path(),
            "passes --file DIR/f --passes 3 --block 10000",
        );
        assert_eq!(whole["bytes"], json!(3 << 20));
        assert_eq!(whole["reads"], json!(3 * 105));
        let parts = "passes --file DIR/f --passes 3 --block 4K --per-chunk 100K";
        assert_eq!(did(folder.path(), parts)["bytes"], json!(3 << 20));
    }

    #[test]
    fn the_same_bytes_as_small_files_or_large_ones() {
        let folder = tempfile::tempdir().unwrap();
        for (line, files, fsyncs) in [
            (
                "smallfiles --dir DIR/a --bytes 1M --file-bytes 100K --threads 3",
                10,
                10,
            ),
            (
                "smallfiles --dir DIR/b --bytes 1M --file-bytes 512K --sync batch",
                2,
                0,
            ),
        ] {
            let did = did(folder.path(), line);
            assert_eq!(
                (&did["files"], &did["fsyncs"]),
                (&json!(files), &json!(fsyncs))
            );
        }
        let sizes = |name: &str| -> Vec<u64> {
            let entries = std::fs::read_dir(folder.path().join(name)).unwrap();
            entries.map(|entry| bytes(&entry.unwrap().path())).collect()
        };
        assert_eq!(sizes("a"), vec![100 << 10; 10]);
        assert_eq!(sizes("b"), vec![512 << 10; 2]);
    }

    #[test]
    fn calls_spread_their_fsyncs_and_come_out_exactly() {
        let folder = tempfile::tempdir().unwrap();
        let did = did(
            folder.path(),
            "calls --file DIR/f --writes 101 --fsyncs 7 --reads 5 --opens 3",
        );
        assert_eq!((&did["pwrite64"], &did["fsync"]), (&json!(101), &json!(7)));
        assert_eq!((&did["pread64"], &did["opens"]), (&json!(5), &json!(4)));
        assert_eq!(bytes(&folder.path().join("f")), 101 * 512);
    }

    #[test]
    fn a_convoy_shares_a_file_or_does_not() {
        let folder = tempfile::tempdir().unwrap();
        did(
            folder.path(),
            "convoy --file DIR/one --threads 3 --writes 2 --block 8K",
        );
        assert_eq!(bytes(&folder.path().join("one")), 3 * 8192);
        did(
            folder.path(),
            "convoy --file DIR/own --threads 3 --writes 2 --block 8K --own-files",
        );
        assert_eq!(bytes(&folder.path().join("own.2")), 8192);
    }

    #[test]
    fn random_reads_stop_at_their_number() {
        let folder = tempfile::tempdir().unwrap();
        did(
            folder.path(),
            "seqwrite --file DIR/f --bytes 256K --block 64K",
        );
        let did = did(
            folder.path(),
            "randread --buffered --file DIR/f --threads 4 --reads 25",
        );
        assert_eq!(
            (&did["reads"], &did["bytes"]),
            (&json!(100), &json!(100 * 4096))
        );
    }

    #[test]
    fn computing_uses_the_processor_time_that_it_was_given() {
        let clock = || {
            let used =
                nix::time::clock_gettime(nix::time::ClockId::CLOCK_THREAD_CPUTIME_ID).unwrap();
            used.tv_sec() as f64 + used.tv_nsec() as f64 / 1e9
        };
        let before = clock();
        spin::burn(0.05).unwrap();
        assert!(clock() - before >= 0.05);
    }

    #[test]
    fn every_program_describes_itself() {
        use clap::CommandFactory;
        Options::command().debug_assert();
    }
}
