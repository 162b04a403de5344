//! `iowhy-logs`: takes large logs of tracing tools apart; see the crate of that name.

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match iowhy_logs::run(&arguments, std::io::stdout()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("iowhy-logs: {error}");
            ExitCode::from(2)
        }
    }
}
