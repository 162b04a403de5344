//! Makes `rows.rs` from schema.toml: one struct per table, so that a column that is missing, misspelt or
//! of the wrong type does not compile.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{bail, Context, Result};
use toml::{Table, Value};

const SCHEMA: &str = "../python/iowhy/tables/schema.toml";

struct Column {
    name: String,
    kind: String,
    doc: String,
    null: Option<String>,
}

fn main() -> Result<()> {
    println!("cargo:rerun-if-changed={SCHEMA}");
    let text = std::fs::read_to_string(SCHEMA).with_context(|| format!("cannot read {SCHEMA}"))?;
    let schema: Table = text
        .parse()
        .with_context(|| format!("{SCHEMA} is not TOML"))?;
    let out = PathBuf::from(std::env::var("OUT_DIR")?).join("rows.rs");
    std::fs::write(&out, generate(&schema)?)
        .with_context(|| format!("cannot write {}", Path::new(&out).display()))
}

fn generate(schema: &Table) -> Result<String> {
    let version = schema
        .get("version")
        .and_then(Value::as_integer)
        .with_context(|| format!("{SCHEMA}: version is missing"))?;
    let mut structs = String::new();
    let mut tables = String::new();
    let mut count = 0;
    for (name, value) in schema {
        let Value::Table(table) = value else { continue };
        let columns = columns_of(name, table)?;
        let row = text_of(table, "row").unwrap_or_default();
        let time = text_of(table, "time");
        write_struct(&mut structs, name, &row, &columns)?;
        write_row(&mut structs, name, count, &columns, summed(schema, name))?;
        write_table(&mut tables, name, time.as_deref(), &columns)?;
        count += 1;
    }
    Ok(format!(
        "/// Version of the schema.\npub const VERSION: u32 = {version};\n\
         /// Every table of a recording, in the order of the schema.\n\
         pub static TABLES: [Table; {count}] = [\n{tables}];\n{structs}"
    ))
}

/// Whether another table holds sums over this one's rows, or by them.
fn summed(schema: &Table, name: &str) -> bool {
    let mut tables = schema.values().filter_map(Value::as_table);
    tables.any(|table| {
        ["sums", "by"]
            .iter()
            .any(|key| text_of(table, key).as_deref() == Some(name))
    })
}

fn columns_of(table_name: &str, table: &Table) -> Result<Vec<Column>> {
    let columns = table
        .get("columns")
        .and_then(Value::as_table)
        .with_context(|| format!("{SCHEMA}: {table_name} has no columns"))?;
    let mut found = Vec::new();
    for (name, value) in columns {
        let at = || format!("{SCHEMA}: {table_name}.{name}");
        let value = value.as_table().with_context(at)?;
        let kind = text_of(value, "type").with_context(|| format!("{}: no type", at()))?;
        // A list that is written is empty where nothing is known: only recordings from before the column have NULL.
        let is_list = kind.ends_with('s');
        let column = Column {
            name: name.clone(),
            doc: text_of(value, "doc").unwrap_or_default(),
            null: text_of(value, "null").filter(|_| !is_list),
            kind,
        };
        if !["int", "float", "bool", "text", "ints", "texts"].contains(&column.kind.as_str()) {
            bail!("{}: unknown type {}", at(), column.kind);
        }
        found.push(column);
    }
    Ok(found)
}

fn text_of(table: &Table, key: &str) -> Option<String> {
    table.get(key).and_then(Value::as_str).map(str::to_owned)
}

fn write_struct(out: &mut String, table: &str, row: &str, columns: &[Column]) -> Result<()> {
    writeln!(out, "/// A row of `{table}`: {}.", escaped(row))?;
    writeln!(out, "#[derive(Clone, Debug, Default, PartialEq)]")?;
    writeln!(out, "pub struct {} {{", camel(table))?;
    for column in columns {
        let kind = match column.kind.as_str() {
            "int" => "i64",
            "float" => "f64",
            "bool" => "bool",
            "text" => "Name",
            "ints" => "Vec<i64>",
            _ => "Vec<Name>",
        };
        match &column.null {
            Some(why) => {
                writeln!(
                    out,
                    "    /// {}; None: {}.",
                    escaped(&column.doc),
                    escaped(why)
                )?;
                writeln!(out, "    pub {}: Option<{kind}>,", column.name)?;
            }
            None => {
                writeln!(out, "    /// {}.", escaped(&column.doc))?;
                writeln!(out, "    pub {}: {kind},", column.name)?;
            }
        }
    }
    writeln!(out, "}}")?;
    Ok(())
}

/// How a row gets into the columns of its table.
fn write_row(
    out: &mut String,
    table: &str,
    index: usize,
    columns: &[Column],
    summed: bool,
) -> Result<()> {
    writeln!(out, "impl Row for {} {{", camel(table))?;
    writeln!(out, "    const TABLE: &'static str = \"{table}\";")?;
    writeln!(out, "    const INDEX: usize = {index};")?;
    writeln!(out, "    #[inline]")?;
    writeln!(out, "    fn append(self, columns: &mut [Column]) {{")?;
    // One slice pattern instead of an index per column: one length check for the whole row.
    let names: Vec<String> = (0..columns.len()).map(|i| format!("c{i}")).collect();
    writeln!(out, "        let [{}] = columns else {{", names.join(", "))?;
    writeln!(out, "            unreachable!(\"columns of {table}\")")?;
    writeln!(out, "        }};")?;
    for (at, column) in names.iter().zip(columns) {
        let optional = if column.null.is_some() {
            "optional_"
        } else {
            ""
        };
        writeln!(
            out,
            "        {at}.{optional}{}(self.{});",
            column.kind, column.name
        )?;
    }
    writeln!(out, "    }}")?;
    if summed {
        writeln!(out, "    #[inline]")?;
        writeln!(out, "    fn sum(&self, sums: &mut crate::sums::Sums) {{")?;
        writeln!(out, "        sums.{table}(self);\n    }}")?;
    }
    writeln!(out, "}}")?;
    Ok(())
}

fn write_table(
    out: &mut String,
    table: &str,
    time: Option<&str>,
    columns: &[Column],
) -> Result<()> {
    writeln!(
        out,
        "    Table {{ name: \"{table}\", time: {time:?}, columns: &["
    )?;
    for column in columns {
        writeln!(
            out,
            "        ColumnType {{ name: \"{}\", kind: Kind::{}, nullable: {} }},",
            column.name,
            camel(&column.kind),
            column.null.is_some()
        )?;
    }
    writeln!(out, "    ] }},")?;
    Ok(())
}

/// rustdoc reads [ ] and < > as links and HTML.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        if "[]<>".contains(c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

fn camel(name: &str) -> String {
    let mut out = String::new();
    for word in name.split('_') {
        let mut letters = word.chars();
        out.extend(letters.next().map(|c| c.to_ascii_uppercase()));
        out.extend(letters);
    }
    out
}
