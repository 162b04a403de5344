//! The kernel's types that the programs name, taken out of all: the running kernel's, made ones, and damaged ones.

use std::collections::BTreeSet;
use std::path::Path;

use iowhy_recorder::kernel::relevant::{relevant, NAMED};
use libbpf_rs::btf::types::{Enum, Func, Struct, Union};
use libbpf_rs::btf::{Btf, BtfType, TypeId};
use libbpf_rs::ReferencesType as _;
use proptest::prelude::*;

const KERNEL: &str = "/sys/kernel/btf/vmlinux";

/// Type information with these types, each its words, and these names one after the other.
fn made(types: &[&[u32]], names: &str) -> Vec<u8> {
    let types: Vec<u8> = types
        .concat()
        .into_iter()
        .flat_map(u32::to_ne_bytes)
        .collect();
    let length = |bytes: &[u8]| u32::try_from(bytes.len()).unwrap();
    let mut bytes = 0xeb9f_u16.to_ne_bytes().to_vec();
    bytes.extend([1, 0]);
    let places = [
        24,
        0,
        length(&types),
        length(&types),
        length(names.as_bytes()),
    ];
    bytes.extend(places.into_iter().flat_map(u32::to_ne_bytes));
    bytes.extend(types);
    bytes.extend(names.as_bytes());
    bytes
}

/// `struct inner { int n; }; struct outer { struct inner in; struct other *to; }; struct other { int n; }; int f(void);`
fn small() -> Vec<u8> {
    const INT: [u32; 4] = [1, 1 << 24, 4, 1 << 24 | 32];
    const INNER: [u32; 6] = [5, 4 << 24 | 1, 4, 29, 1, 0];
    const TO_OTHER: [u32; 3] = [0, 2 << 24, 5];
    const OUTER: [u32; 9] = [11, 4 << 24 | 2, 16, 23, 2, 0, 26, 3, 64];
    const OTHER: [u32; 6] = [17, 4 << 24 | 1, 4, 29, 1, 0];
    const PROTOTYPE: [u32; 3] = [0, 13 << 24, 1];
    const FUNCTION: [u32; 3] = [31, 12 << 24, 6];
    made(
        &[
            &INT, &INNER, &TO_OTHER, &OUTER, &OTHER, &PROTOTYPE, &FUNCTION,
        ],
        "\0int\0inner\0outer\0other\0in\0to\0n\0f\0",
    )
}

fn parsed(bytes: &[u8]) -> Btf<'static> {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), bytes).unwrap();
    Btf::from_path(file.path()).unwrap()
}

#[test]
fn a_structure_keeps_its_number_and_what_lies_in_it_and_its_pointers_point_to_nothing() {
    let found = relevant(&small(), &["outer", "gone"]).unwrap();
    assert_eq!(found.missing, ["gone"]);
    let left = parsed(&found.bytes);
    // What comes after the last is cut off, functions above all.
    assert_eq!(left.len(), 5);
    assert!(left.type_by_name::<Struct<'_>>("other").is_none());
    assert!(left.type_by_name::<Func<'_>>("f").is_none());
    let outer: Struct<'_> = left.type_by_id(TypeId::from(4)).unwrap();
    let members: Vec<_> = outer.iter().map(|m| m.name.unwrap().to_owned()).collect();
    assert_eq!(members, ["in", "to"]);
    let inner: Struct<'_> = left.type_by_id(outer.get(0).unwrap().ty).unwrap();
    assert_eq!(inner.name().unwrap(), "inner");
    let to: BtfType<'_> = left.type_by_id(outer.get(1).unwrap().ty).unwrap();
    let to = libbpf_rs::btf::types::Ptr::try_from(to).unwrap();
    assert_eq!(to.referenced_type().type_id(), TypeId::from(0));
}

#[test]
fn a_type_between_that_nobody_names_has_no_name() {
    let found = relevant(&small(), &["other"]).unwrap();
    let left = parsed(&found.bytes);
    assert_eq!(left.len(), 6);
    assert!(left.type_by_name::<Struct<'_>>("outer").is_none());
    let other = left.type_by_name::<Struct<'_>>("other").unwrap();
    assert_eq!(other.type_id(), TypeId::from(5));
}

#[test]
fn a_kind_that_is_not_known_leaves_all_to_the_kernel() {
    let known = made(&[&[1, 1 << 24, 4, 1 << 24 | 32]], "\0int\0");
    assert!(relevant(&known, &["int"]).is_some());
    let unknown = made(
        &[&[1, 1 << 24, 4, 1 << 24 | 32], &[0, 20 << 24, 0]],
        "\0int\0",
    );
    assert_eq!(relevant(&unknown, &["int"]), None);
    assert_eq!(relevant(&known, &["long"]), None, "nothing is left");
}

/// Each member's name, number and place.
fn layout<'a>(of: &BtfType<'a>) -> Vec<String> {
    if let Ok(of) = Struct::try_from(*of) {
        return of
            .iter()
            .map(|m| format!("{:?} {:?}", m.name, m.attr))
            .collect();
    }
    if let Ok(of) = Union::try_from(*of) {
        return of
            .iter()
            .map(|m| format!("{:?} {:?}", m.name, m.attr))
            .collect();
    }
    let of = Enum::try_from(*of);
    of.iter()
        .flat_map(|of| of.iter().map(|m| format!("{:?} {}", m.name, m.value)))
        .collect()
}

#[test]
fn what_the_programs_name_of_this_kernel_is_as_the_kernel_has_it() {
    assert!(
        Path::new(KERNEL).exists(),
        "{KERNEL} is needed for this test"
    );
    let bytes = std::fs::read(KERNEL).unwrap();
    let found = relevant(&bytes, NAMED).unwrap();
    assert!(found.bytes.len() < bytes.len());
    let (all, left) = (parsed(&bytes), parsed(&found.bytes));
    let missing: BTreeSet<_> = found.missing.iter().copied().collect();
    let mut compared = 0;
    for number in 1..u32::try_from(all.len()).unwrap() {
        let Some(whole) = all.type_by_id::<BtfType<'_>>(TypeId::from(number)) else {
            continue;
        };
        let name = whole.name().and_then(|name| name.to_str());
        let Some(name) = name.filter(|name| NAMED.contains(name)) else {
            continue;
        };
        if layout(&whole).is_empty() {
            continue;
        }
        assert!(!missing.contains(name), "{name} is not missing");
        let copy: BtfType<'_> = left.type_by_id(TypeId::from(number)).unwrap();
        assert_eq!(copy.name(), whole.name());
        assert_eq!(layout(&copy), layout(&whole), "{name}");
        compared += 1;
    }
    // Linux 5.10 has fewer of them.
    assert!(compared > NAMED.len() / 2, "{compared} of {}", NAMED.len());
}

proptest! {
    #[test]
    fn damaged_types_are_refused_or_copied(
        at in any::<prop::sample::Index>(), byte in any::<u8>(), end in any::<prop::sample::Index>(),
    ) {
        let mut bytes = small();
        let place = at.index(bytes.len());
        bytes[place] = byte;
        bytes.truncate(end.index(small().len() + 1));
        if let Some(found) = relevant(&bytes, &["outer"]) {
            prop_assert!(found.bytes.len() >= 24);
        }
    }
}
