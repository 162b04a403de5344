//! `iowhy-logs`: takes large logs of tracing tools apart (see the crate of that name).

use std::process::ExitCode;

/// The rules that give a wait its reason: stacks of other tools are judged by the same ones.
const REASONS: &str = include_str!("../src/reasons.toml");

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments == ["reasons"] {
        print!("{REASONS}");
        return ExitCode::SUCCESS;
    }
    match iowhy_logs::run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("iowhy-logs: {error:#}");
            ExitCode::from(2)
        }
    }
}
