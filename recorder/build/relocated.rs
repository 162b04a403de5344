//! The kernel's types that the programs name: whose layout, number or presence is looked up when they are loaded (CO-RE).

use std::collections::BTreeSet;
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::ptr;

use anyhow::{ensure, Context, Result};
use libbpf_rs::btf::{Btf, BtfType, TypeId};
use libbpf_rs::libbpf_sys::{btf__free, btf__parse, btf_ext__free, btf_ext__raw_data};

/// Where the header of .BTF.ext has its own length, and place and length of the relocations (struct btf_ext_header in
/// tools/lib/bpf/libbpf_internal.h).
const HEADER_LENGTH: usize = 4;
const RELOCATIONS: usize = 24;
/// The type's number in a relocation (struct bpf_core_relo in include/uapi/linux/bpf.h).
const TYPE: usize = 4;

/// A Rust slice of the names as the kernel has them: without what follows three underscores.
pub fn rust(object: &Path) -> Result<String> {
    let types = Btf::from_path(object).context("the programs' type information")?;
    let mut names = BTreeSet::new();
    for number in numbers(object)? {
        let of: BtfType<'_> = types
            .type_by_id(TypeId::from(number))
            .context("a relocation without its type")?;
        let name = of.name().context("a relocated type without a name")?;
        let name = name.to_string_lossy();
        let end = name.find("___").unwrap_or(name.len());
        names.insert(name[..end].to_owned());
    }
    ensure!(!names.is_empty(), "the programs name no type of the kernel");
    let names: Vec<_> = names.into_iter().collect();
    Ok(format!("&{names:?}\n"))
}

/// The numbers of the relocated types in the object's own type information.
fn numbers(object: &Path) -> Result<BTreeSet<u32>> {
    let bytes = relocations(object)?;
    let record = word(&bytes, 0)? as usize;
    ensure!(record > TYPE, "relocations of {record} bytes");
    let (mut at, mut found) = (4, BTreeSet::new());
    while at < bytes.len() {
        // A section's name, and how many relocations it has.
        let count = word(&bytes, at + 4)? as usize;
        at += 8;
        for one in 0..count {
            found.insert(word(&bytes, at + one * record + TYPE)?);
        }
        at += count * record;
    }
    Ok(found)
}

/// The part of .BTF.ext that holds the relocations.
fn relocations(object: &Path) -> Result<Vec<u8>> {
    let path = CString::new(object.as_os_str().as_bytes())?;
    let mut extension = ptr::null_mut();
    let mut size = 0;
    // SAFETY: the path is a C string and the place for the extension is ours; both that are found are freed here, after
    // what they hold was copied.
    let bytes = unsafe {
        let types = btf__parse(path.as_ptr(), &mut extension);
        ensure!(
            !types.is_null() && !extension.is_null(),
            "no .BTF.ext in {}",
            object.display()
        );
        let raw = btf_ext__raw_data(extension, &mut size);
        let bytes = std::slice::from_raw_parts(raw.cast::<u8>(), size as usize).to_vec();
        btf_ext__free(extension);
        btf__free(types);
        bytes
    };
    let begin = word(&bytes, HEADER_LENGTH)? as usize + word(&bytes, RELOCATIONS)? as usize;
    let length = word(&bytes, RELOCATIONS + 4)? as usize;
    let part = bytes.get(begin..begin + length);
    Ok(part.context("relocations outside of .BTF.ext")?.to_vec())
}

fn word(bytes: &[u8], at: usize) -> Result<u32> {
    let four = bytes.get(at..at + 4).context("a cut .BTF.ext")?;
    Ok(u32::from_ne_bytes(four.try_into()?))
}
