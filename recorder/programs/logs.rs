//! `iowhy-logs`: takes large logs of tracing tools apart (see the crate of that name), and tells what the recorder
//! knows of system calls and of waits, so that other tools' traces are judged by the same tables.

use std::process::ExitCode;

use iowhy_recorder::calls::SHAPES;
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
/// Of `Shape::how`: the length is an iovec array's; the offset argument is a pointer to the offset.
const IOVEC: u8 = 1;
const POINTER: u8 = 2;

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
    let argument = |at: i8| (at >= 0).then_some(at);
    let shapes: Vec<_> = SHAPES
        .iter()
        .map(|shape| {
            let vector = shape.how & IOVEC != 0;
            json!({
                "name": shape.name,
                "fd": argument(shape.fd),
                "length": argument(shape.bytes).filter(|_| !vector),
                "offset": argument(shape.offset).filter(|_| shape.how & POINTER == 0),
            })
        })
        .collect();
    let numbers: serde_json::Map<_, _> = NUMBERS
        .iter()
        .map(|&(machine, text)| (machine.to_owned(), json!(text)))
        .collect();
    json!({ "shapes": shapes, "numbers": numbers, "reasons": REASONS })
}
