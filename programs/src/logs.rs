//! `iowhy-logs`: takes large logs of tracing tools apart; see the crate of that name.

use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match iowhy_logs::run(&arguments, std::io::stdout()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // A closed or full stderr is no reason to panic.
            let _ = writeln!(std::io::stderr(), "iowhy-logs: {error}");
            ExitCode::from(2)
        }
    }
}
