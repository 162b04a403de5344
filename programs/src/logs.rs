//! `iowhy-logs`: takes large logs of tracing tools apart (see the crate of that name), and prints what the recorder
//! knows of system calls and of waits, so that other tools' traces are judged by the same tables.

use std::process::ExitCode;

use iowhy_tables::calls::{OffsetIn, CALLS};
use serde_json::json;

const REASONS: &str = include_str!("../../python/iowhy/tables/reasons.toml");
const NUMBERS: [(&str, &str); 2] = [
    (
        "x86_64",
        include_str!("../../python/iowhy/tables/numbers/x86_64.txt"),
    ),
    (
        "aarch64",
        include_str!("../../python/iowhy/tables/numbers/aarch64.txt"),
    ),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments == ["known"] {
        println!("{}", known());
        return ExitCode::SUCCESS;
    }
    match iowhy_logs::run(&arguments, std::io::stdout()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("iowhy-logs: {error}");
            ExitCode::from(2)
        }
    }
}

/// Numbers and names of calls by machine, the arguments of I/O calls (from 0), and the reasons of waits (TOML).
fn known() -> serde_json::Value {
    let recorded = CALLS
        .iter()
        .filter(|c| c.record.is_some() && c.same_as.is_none());
    let shapes: Vec<_> = recorded
        .map(|call| {
            json!({
                "name": call.name,
                "fd": call.fd,
                "length": call.bytes.filter(|_| !call.vector),
                "offset": call.offset.filter(|_| call.offset_in == OffsetIn::Argument),
            })
        })
        .collect();
    let numbers: serde_json::Map<_, _> = NUMBERS
        .iter()
        .map(|&(machine, text)| (machine.to_owned(), json!(text)))
        .collect();
    json!({ "shapes": shapes, "numbers": numbers, "reasons": REASONS })
}
