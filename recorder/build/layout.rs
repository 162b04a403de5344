//! The layout of the records as the compiler gave it to the programs (BTF), as Rust types: neither side writes down
//! the other's offsets.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{bail, ensure, Context, Result};
use libbpf_rs::btf::types::{Array, Enum, Int, IntEncoding, MemberAttr, Struct};
use libbpf_rs::btf::{Btf, BtfType};
use libbpf_rs::HasSize as _;

use crate::sources::Found;

/// A variable of each type: what is used by none would have no type information.
pub fn source(found: &Found) -> String {
    let mut out = String::from(
        "#include \"sensors.h\"\n\nchar LICENSE[] SEC(\"license\") = \"Dual BSD/GPL\";\n",
    );
    for name in &found.structs {
        let _ = writeln!(out, "struct {name} layout_struct_{name};");
    }
    for name in &found.enums {
        let _ = writeln!(out, "enum {name} layout_enum_{name};");
    }
    out
}

/// Rust structs and constants of what the object holds. They are checked when they are compiled: offset and size of
/// each are C's.
pub fn rust(object: &Path, found: &Found) -> Result<String> {
    let btf = Btf::from_path(object).context("the layout's type information")?;
    let mut out = String::new();
    for name in &found.structs {
        let of = btf
            .type_by_name::<Struct<'_>>(name)
            .with_context(|| format!("no type information of struct {name}"))?;
        write_struct(&mut out, &btf, name, &of).with_context(|| format!("struct {name}"))?;
    }
    for name in &found.enums {
        let of = btf
            .type_by_name::<Enum<'_>>(name)
            .with_context(|| format!("no type information of enum {name}"))?;
        write_enum(&mut out, name, &of)?;
    }
    Ok(out)
}

fn write_struct(out: &mut String, btf: &Btf<'_>, name: &str, of: &Struct<'_>) -> Result<()> {
    let rust = rust_name(name);
    let mut fields = String::new();
    let mut checks = String::new();
    let mut names = Vec::new();
    let mut end = 0;
    for member in of.iter() {
        let field = member
            .name
            .context("a member without a name")?
            .to_string_lossy();
        let MemberAttr::Normal { offset } = member.attr else {
            bail!("{field} is a bit field");
        };
        let ty: BtfType<'_> = btf
            .type_by_id(member.ty)
            .context("a member without a type")?;
        let (text, size) =
            rust_type(&ty.skip_mods_and_typedefs()).with_context(|| field.to_string())?;
        let offset = offset as usize / 8;
        ensure!(
            offset == end,
            "{} bytes before {field} have no name: add a pad",
            offset - end
        );
        end = offset + size;
        names.push(field.to_string());
        writeln!(fields, "    pub {field}: {text},")?;
        writeln!(
            checks,
            "const _: () = assert!(std::mem::offset_of!({rust}, {field}) == {offset});"
        )?;
    }
    ensure!(
        end == of.size(),
        "{} bytes at its end have no name: add a pad",
        of.size() - end
    );
    writeln!(
        out,
        "/// struct {name}\n#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]\n#[repr(C)]\npub struct {rust} {{\n{fields}}}\n\
         // SAFETY: integers and arrays of integers only, without padding.\nunsafe impl Plain for {rust} {{}}\n\
         impl Default for {rust} {{\n    fn default() -> Self {{\n        // SAFETY: Plain types may be all zeroes.\n        \
         unsafe {{ std::mem::zeroed() }}\n    }}\n}}\n\
         const _: () = assert!(size_of::<{rust}>() == {end});\n{checks}{}",
        identified(&rust, &names)
    )?;
    Ok(())
}

/// How the record says which file it means: `ino`, `dev` and `generation`, of a request's owner, or none.
fn identified(rust: &str, fields: &[String]) -> String {
    let has = |name: String| fields.contains(&name);
    let prefix = ["", "owner_"].into_iter().find(|prefix| {
        ["ino", "dev", "generation"]
            .iter()
            .all(|name| has(format!("{prefix}{name}")))
    });
    let Some(p) = prefix else {
        return format!("impl Identified for {rust} {{}}\n");
    };
    format!(
        "impl Identified for {rust} {{\n    fn identify(&mut self, identities: &mut Identities) {{\n        \
         let file = FileId {{ ino: self.{p}ino, dev: self.{p}dev, generation: self.{p}generation }};\n        \
         self.{p}ino = identities.of(file);\n    }}\n}}\n"
    )
}

/// A type in Rust's words, and its size.
fn rust_type(ty: &BtfType<'_>) -> Result<(String, usize)> {
    if let Ok(int) = Int::try_from(*ty) {
        let is_char = int.name().is_some_and(|name| name == "char");
        let letter = match int.encoding {
            IntEncoding::Signed if !is_char => 'i',
            _ => 'u',
        };
        return Ok((format!("{letter}{}", int.bits), usize::from(int.bits) / 8));
    }
    if let Ok(array) = Array::try_from(*ty) {
        let (of, size) = rust_type(&array.contained_type().skip_mods_and_typedefs())?;
        let count = array.capacity();
        return Ok((format!("[{of}; {count}]"), size * count));
    }
    let of = Struct::try_from(*ty)
        .ok()
        .context("neither an integer, an array nor a structure")?;
    let name = of
        .name()
        .context("a structure without a name")?
        .to_string_lossy();
    Ok((rust_name(&name), of.size()))
}

fn write_enum(out: &mut String, name: &str, of: &Enum<'_>) -> Result<()> {
    // A byte where all of them fit: records keep them in one.
    let is_small = of.iter().all(|member| u8::try_from(member.value).is_ok());
    let kind = if is_small { "u8" } else { "u32" };
    for member in of.iter() {
        let constant = member
            .name
            .context("a value without a name")?
            .to_string_lossy();
        let value =
            u32::try_from(member.value).with_context(|| format!("{constant} of enum {name}"))?;
        writeln!(
            out,
            "/// enum {name}\npub const {constant}: {kind} = {value};"
        )?;
    }
    Ok(())
}

fn rust_name(name: &str) -> String {
    let mut out = String::new();
    for word in name.strip_prefix("event_").unwrap_or(name).split('_') {
        let mut letters = word.chars();
        out.extend(letters.next().map(|c| c.to_ascii_uppercase()));
        out.extend(letters);
    }
    out
}
