//! Small deterministic programs that do a known amount of I/O in a known pattern.
//!
//! Each prints one line of JSON: what it did (counts, bytes) and how long it took (seconds). They are what the
//! lab's scenarios run where no real program does exactly that, and what tests hold a recorder's
//! counts against.

mod calls;
mod children;
mod convoy;
mod idle;
mod passes;
mod preads;
mod random;
mod randread;
mod regions;
mod seqwrite;
mod smallfiles;
mod spin;
mod thirds;
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
    Thirds(thirds::Options),
    Preads(preads::Options),
    Children(children::Options),
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
            Self::Thirds(options) => ("thirds", thirds::run(options)),
            Self::Preads(options) => ("preads", preads::run(options)),
            Self::Children(options) => ("children", children::run(options)),
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
