//! Names of addresses for `iowhy symbolize`: JSON in, JSON out.

use std::collections::BTreeSet;
use std::io::{self, Read};
use std::time::Duration;

use iowhy_symbols::{worker, Frame, Kind, Module, Names};
use serde::{Deserialize, Serialize};

/// More than any recording asks.
const MAX_BYTES: u64 = 256 << 20;

#[derive(Deserialize)]
struct Asked {
    module_id: i64,
    path: String,
    /// No file without it: nothing would tell another one of that path from the one that was mapped.
    build_id: String,
    vdso: bool,
    addresses: Vec<u64>,
}

#[derive(Serialize)]
struct Answered {
    module_id: i64,
    address: u64,
    /// 0 the innermost; all but the last are inlined into the next.
    place: usize,
    last: bool,
    function: Option<String>,
    file: Option<String>,
    line: Option<u32>,
}

#[derive(Serialize)]
struct Told {
    /// What has no name is not in it.
    found: Vec<Answered>,
    /// Modules of which names or lines are missing, as to read them takes too much memory.
    too_large: BTreeSet<i64>,
}

/// Reads a list of `Asked` from stdin, and writes what was found.
pub fn answer(most: Duration) -> io::Result<()> {
    let asked: Vec<Asked> = serde_json::from_reader(io::stdin().lock().take(MAX_BYTES))?;
    let wanted = asked.into_iter().map(|one| {
        let module = Module {
            lines: true,
            path: one.path.into(),
            build_id: Some(one.build_id),
            kind: if one.vdso { Kind::Vdso } else { Kind::File },
            file: None,
            root: None,
            process: None,
        };
        (one.module_id, module, one.addresses)
    });
    let Names {
        of_modules,
        too_large,
        ..
    } = worker::name(&wanted.collect(), most);
    let mut found = Vec::new();
    for (module_id, named) in of_modules {
        for (address, frames) in named {
            let last = frames.len().saturating_sub(1);
            let of_one = frames.into_iter().enumerate().map(|(place, frame)| {
                let Frame {
                    function,
                    file,
                    line,
                } = frame;
                Answered {
                    module_id,
                    address,
                    place,
                    last: place == last,
                    function,
                    file,
                    line,
                }
            });
            found.extend(of_one);
        }
    }
    let told = Told { found, too_large };
    serde_json::to_writer(io::stdout().lock(), &told)?;
    Ok(())
}
