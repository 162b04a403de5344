//! `iowhy-record aggregate`: what the agent counts, as recordings of an hour.

use std::path::PathBuf;
use std::time::Duration;

use iowhy_readings::messages;

#[derive(clap::Args)]
pub struct Arguments {
    /// Folder of the recordings
    #[arg(short = 'o', long = "out", value_name = "DIR")]
    out: PathBuf,
    /// Seconds that each row stands for
    #[arg(long, value_parser = crate::seconds, value_name = "SECONDS", default_value = "10")]
    every: Duration,
    /// Seconds of a recording, at most
    #[arg(long, value_parser = crate::seconds, value_name = "SECONDS", default_value = "3600")]
    rotate: Duration,
    /// Time every I/O call, which every call of the machine pays for
    #[arg(long)]
    calls: bool,
    /// Write what each program cost the kernel to this file, as JSON (for benchmarks)
    #[arg(long, hide = true)]
    program_stats: Option<PathBuf>,
}

/// Until it is told to end; exits with the recorder's status where it cannot.
pub fn run(arguments: Arguments) {
    let request = iowhy_agent::Request {
        root: arguments.out,
        every: arguments.every,
        rotate: arguments.rotate,
        calls: arguments.calls,
        program_stats: arguments.program_stats,
    };
    if let Err(error) = iowhy_agent::run(&request, std::io::stdout().lock()) {
        messages::say(&format!("{error:#}"));
        std::process::exit(iowhy_recorder::session::BROKEN);
    }
}
