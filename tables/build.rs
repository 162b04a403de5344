//! Makes Rust tables from the data in python/iowhy/tables. An entry that is not whole does not compile.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use anyhow::{ensure, Context, Result};
use serde::Deserialize;

const FOLDER: &str = "../python/iowhy/tables";

#[derive(Deserialize)]
struct Calls {
    call: BTreeMap<String, Call>,
}

#[derive(Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Call {
    kind: Option<String>,
    #[serde(rename = "direction")]
    _direction: Option<String>,
    moves_data: bool,
    #[serde(rename = "reaps")]
    _reaps: bool,
    record: Option<String>,
    arguments: Option<u8>,
    fd: Option<u8>,
    bytes: Option<u8>,
    offset: Option<u8>,
    written: Option<u8>,
    flags: Option<u8>,
    vector: bool,
    offset_in: Option<String>,
    effect: Option<String>,
    closes: bool,
    served: bool,
    makes: Option<String>,
    same_as: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Sensors {
    scheduler: Sensor,
    sensor: Vec<Sensor>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Sensor {
    name: String,
    #[serde(rename = "doc")]
    _doc: String,
    #[serde(rename = "only_adds")]
    _only_adds: bool,
    tables: Vec<String>,
    sources: Vec<String>,
    backend: String,
    event: Option<String>,
    programs: Vec<String>,
    part: Vec<Part>,
    parameters: BTreeMap<String, String>,
    fallback: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Part {
    programs: Vec<String>,
    lacking: String,
    with: Option<String>,
}

#[derive(Deserialize)]
struct Reasons {
    reason: BTreeMap<String, Reason>,
    rule: Vec<Rule>,
}

#[derive(Deserialize)]
struct Reason {
    #[serde(default)]
    interruptible: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    reason: String,
    any: Vec<String>,
    #[serde(default)]
    also: Vec<String>,
}

fn main() -> Result<()> {
    println!("cargo:rerun-if-changed={FOLDER}");
    write("calls.rs", &calls()?)?;
    write("sensors.rs", &sensors()?)?;
    write("reasons.rs", &reasons()?)
}

fn read(name: &str) -> Result<String> {
    let path = format!("{FOLDER}/{name}");
    std::fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))
}

fn write(name: &str, text: &str) -> Result<()> {
    let path = PathBuf::from(std::env::var("OUT_DIR")?).join(name);
    std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
}

impl Call {
    /// Whether it has as many arguments as it names.
    fn fits(&self) -> bool {
        let places = [self.fd, self.bytes, self.offset, self.written];
        let fits = |at: &u8| self.arguments.is_none_or(|count| *at < count);
        places.iter().flatten().all(fits)
    }
}

fn calls() -> Result<String> {
    let found: Calls = toml::from_str(&read("calls.toml")?).context("calls.toml")?;
    let mut out = format!(
        "/// All calls of which more is known than their name, sorted by it.\npub static CALLS: [Call; {}] = [\n",
        found.call.len()
    );
    for (name, entry) in &found.call {
        let call = match &entry.same_as {
            Some(same) => found
                .call
                .get(same)
                .with_context(|| format!("calls.toml: {name}: there is no call {same}"))?,
            None => entry,
        };
        ensure!(
            call.fits(),
            "calls.toml: {name} has fewer arguments than it names"
        );
        let offset_in = match call.offset_in.as_deref() {
            Some(place) => camel(place),
            None => "Argument".into(),
        };
        writeln!(
            out,
            "    Call {{ name: {name:?}, kind: {}, moves_data: {}, record: {}, arguments: {:?}, fd: {:?}, \
             bytes: {:?}, offset: {:?}, written: {:?}, flags: {:?}, vector: {}, offset_in: OffsetIn::{offset_in}, effect: {}, closes: {}, served: {}, makes: {:?}, same_as: {:?} }},",
            variant("Kind", call.kind.as_deref()),
            call.moves_data,
            variant("Record", call.record.as_deref()),
            call.arguments,
            call.fd,
            call.bytes,
            call.offset,
            call.written,
            call.flags,
            call.vector,
            variant("Effect", call.effect.as_deref()),
            call.closes,
            call.served,
            call.makes,
            entry.same_as,
        )?;
    }
    out.push_str("];\n");
    for machine in ["x86_64", "aarch64"] {
        let text = read(&format!("numbers/{machine}.txt"))?;
        let mut names: Vec<&str> = Vec::new();
        for line in text.lines() {
            let at = || format!("numbers/{machine}.txt: {line}");
            let (number, name) = line.split_once(' ').with_context(at)?;
            let number: usize = number.parse().with_context(at)?;
            names.resize(names.len().max(number + 1), "");
            names[number] = name;
        }
        let (count, upper) = (names.len(), machine.to_uppercase());
        writeln!(out, "static {upper}: [&str; {count}] = {names:?};")?;
    }
    Ok(out)
}

fn sensors() -> Result<String> {
    let found: Sensors = toml::from_str(&read("sensors.toml")?).context("sensors.toml")?;
    let mut out = String::new();
    writeln!(
        out,
        "/// Threads, their clocks and what they wait for. Every sensor of programs needs these: they know what \
         belongs to the command.\npub static SCHEDULER: &[&str] = &{:?};\n\
         /// Every sensor, in the order in which they are shown.\npub static SENSORS: &[Sensor] = &[",
        found.scheduler.programs
    )?;
    for sensor in &found.sensor {
        let name = &sensor.name;
        writeln!(
            out,
            "    Sensor {{ name: {name:?}, tables: &{:?}, backend: Backend::{}, from_proc: {}, event: {:?}, programs: &{:?}, parts: &[",
            sensor.tables,
            camel(&sensor.backend),
            sensor.sources.iter().any(|s| s == "proc"),
            sensor.event,
            sensor.programs,
        )?;
        for part in &sensor.part {
            writeln!(
                out,
                "        Part {{ programs: &{:?}, lacking: {:?}, required_by: {:?} }},",
                part.programs, part.lacking, part.with
            )?;
        }
        out.push_str("    ] },\n");
    }
    let all = || std::iter::once(&found.scheduler).chain(&found.sensor);
    let pairs = |of: fn(&Sensor) -> &BTreeMap<String, String>| {
        all()
            .flat_map(of)
            .collect::<BTreeMap<_, _>>()
            .into_iter()
            .collect::<Vec<_>>()
    };
    writeln!(
        out,
        "];\n/// Parameters of tracepoints that have changed between kernels, as the program reads them, the kernel's \
         own first\n/// one left out: the name of the structure that it points to, or \"-\". More may follow.\n\
         pub static PARAMETERS: &[(&str, &str)] = &{:?};\n\
         /// Programs for a tracepoint of another shape, tried where the kernel does not take the first: \
         (program, its fallback).\npub static FALLBACKS: &[(&str, &str)] = &{:?};",
        pairs(|s| &s.parameters),
        pairs(|s| &s.fallback),
    )?;
    Ok(out)
}

fn reasons() -> Result<String> {
    let found: Reasons = toml::from_str(&read("reasons.toml")?).context("reasons.toml")?;
    let mut out =
        String::from("/// In the order in which they are tried.\npub static RULES: &[Rule] = &[\n");
    for rule in found.rule {
        writeln!(
            out,
            "    Rule {{ reason: {:?}, any: &{:?}, also: &{:?} }},",
            rule.reason, rule.any, rule.also
        )?;
    }
    let interruptible: Vec<&String> = found
        .reason
        .iter()
        .filter(|(_, reason)| reason.interruptible)
        .map(|(name, _)| name)
        .collect();
    writeln!(
        out,
        "];\n/// Those of which a signal may end the wait.\npub static INTERRUPTIBLE: &[&str] = &{interruptible:?};"
    )?;
    Ok(out)
}

fn variant(kind: &str, word: Option<&str>) -> String {
    word.map_or("None".into(), |word| {
        format!("Some({kind}::{})", camel(word))
    })
}

fn camel(word: &str) -> String {
    let mut letters = word.chars();
    let first = letters.next().map(|c| c.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}
