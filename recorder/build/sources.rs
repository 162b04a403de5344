//! What the headers in bpf/ hold, and the code that is made from their names: a header that is new there needs no
//! list to be written in.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{ensure, Context, Result};
use iowhy_tables::calls::Record;
use iowhy_tables::sensors::SENSORS;

/// Mirrors of the kernel's own types, which are the programs' alone.
const KERNEL: &str = "kernel.h";
/// Types that any header in here defines are shared with user space.
const SHARED: &str = "event.h";

/// Names in the headers, sorted.
pub struct Found {
    pub headers: Vec<String>,
    /// Structures that user space reads: `event_*`, and all in event.h.
    pub structs: Vec<String>,
    /// Of these, the records of the ring, without `event_`: each has a kind.
    pub records: Vec<String>,
    pub enums: Vec<String>,
}

/// Looks through the headers; definitions begin their line, as clang-format writes them.
pub fn find(folder: &Path) -> Result<Found> {
    let mut found = Found {
        headers: Vec::new(),
        structs: Vec::new(),
        records: Vec::new(),
        enums: vec!["call_kind".into(), "event_kind".into()],
    };
    let entries = std::fs::read_dir(folder).context("bpf")?;
    for entry in entries {
        let path = entry?.path();
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if !name.ends_with(".h") {
            continue;
        }
        let text = std::fs::read_to_string(&path).with_context(|| name.clone())?;
        let mut lines = text.lines().peekable();
        while let Some(line) = lines.next() {
            let Some(definition) = line.strip_suffix(" {").filter(|_| name != KERNEL) else {
                continue;
            };
            if let Some(of) = definition.strip_prefix("enum ") {
                found.enums.push(of.into());
            } else if let Some(of) = definition.strip_prefix("struct ") {
                let record = of.strip_prefix("event_");
                if record.is_some() || name == SHARED {
                    found.structs.push(of.into());
                }
                let has_kind = |l: &&str| l.trim().starts_with("struct event_header header;");
                if let Some(record) = record.filter(|_| lines.peek().is_some_and(has_kind)) {
                    found.records.push(record.into());
                }
            }
        }
        found.headers.push(name);
    }
    for names in [
        &mut found.headers,
        &mut found.structs,
        &mut found.records,
        &mut found.enums,
    ] {
        names.sort();
    }
    Ok(found)
}

/// The kinds of records, and how calls are treated.
pub fn generated_header(found: &Found) -> String {
    let mut out = String::from("/* Made by build/sources.rs. */\n#pragma once\n\n");
    out.push_str("enum call_kind {\n\tCALL_PLAIN, /* counted, no event */\n");
    for record in Record::ALL {
        let name = format!("{record:?}").to_uppercase();
        let _ = writeln!(out, "\tCALL_{name} = {},", record as u8);
    }
    out.push_str("};\n\nenum event_kind {\n\tEVENT_NONE,\n");
    for record in &found.records {
        let _ = writeln!(out, "\tEVENT_{},", record.to_uppercase());
    }
    out.push_str("\tEVENT_KINDS,\n};\n");
    out
}

/// Every header: each has the programs of a layer or a sensor.
pub fn sensors_header(found: &Found) -> String {
    found
        .headers
        .iter()
        .map(|name| format!("#include \"{name}\"\n"))
        .collect()
}

/// The modules in src/rows that make a row of one record, and which record is whose: `event = "NAME"` of a sensor
/// stands for `struct event_NAME` in bpf/, `src/rows/NAME.rs` and the sensor's table.
pub fn converters(found: &Found) -> Result<String> {
    let folder = std::env::current_dir()?.join("src/rows");
    let (mut modules, mut arms, mut tables) = (String::new(), String::new(), String::new());
    let mut done = Vec::new();
    for sensor in SENSORS {
        let Some(event) = sensor.event.filter(|event| !done.contains(event)) else {
            continue;
        };
        done.push(event);
        let at = format!("sensors.toml: {}: event = \"{event}\"", sensor.name);
        ensure!(
            found.records.iter().any(|r| r == event),
            "{at}: no header in bpf/ has struct event_{event}"
        );
        let file = folder.join(format!("{event}.rs"));
        ensure!(file.is_file(), "{at}: there is no {}", file.display());
        let table = sensor
            .tables
            .first()
            .with_context(|| format!("{at}: the sensor has no table"))?;
        let kind = format!("layout::EVENT_{}", event.to_uppercase());
        let _ = writeln!(modules, "#[path = {file:?}]\npub mod {event};");
        let _ = writeln!(
            arms,
            "        {kind} => identified(bytes, identities).map(|e| recording.push({event}::row(&e))),"
        );
        let _ = writeln!(tables, "    ({kind}, {table:?}),");
    }
    Ok(format!(
        "{modules}\n/// Writes the row of a record that needs no more than itself; None for any other.\n\
         pub fn convert(\n    kind: u8,\n    bytes: &[u8],\n    identities: &mut Identities,\n    \
         recording: &mut Recording,\n) -> Option<Result<()>> {{\n    \
         match kind {{\n{arms}        _ => None,\n    }}\n}}\n\n\
         /// Kinds of these records, and the table that lacks a row where one is lost.\n\
         pub const TABLES: &[(u8, &str)] = &[\n{tables}];\n"
    ))
}
