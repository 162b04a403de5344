use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use proptest::prelude::*;

use super::*;

/// Files that RocksDB and WiredTiger wrote (tests/catalogues/README.md).
fn fixture(name: &str) -> Vec<u8> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/catalogues");
    fs::read(folder.join(name)).unwrap()
}

fn folder_with(files: &[(&str, &[u8])]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in files {
        fs::write(folder.path().join(name), bytes).unwrap();
    }
    folder
}

fn named(folder: &Path, files: &[&str]) -> Vec<Option<String>> {
    let found = of_folder(folder);
    let path = |file: &&str| folder.join(file).to_str().unwrap().to_owned();
    files
        .iter()
        .map(|file| found.get(&path(file)).cloned())
        .collect()
}

#[test]
fn sorted_tables_have_their_column_family_and_level() {
    let list = fixture("MANIFEST-000005");
    let files: [(&str, &[u8]); 2] = [
        ("CURRENT", b"MANIFEST-000005\n"),
        ("MANIFEST-000005", &list),
    ];
    let folder = folder_with(&files);
    let tables = ["000013.sst", "000014.sst", "000015.sst", "000017.sst"];
    let said = named(folder.path(), &tables);
    let expected = [
        "column family default, level 0",
        "column family users, level 6",
        "column family sessions, level 0",
        "column family users, level 0",
    ];
    assert_eq!(
        said.iter().flatten().collect::<Vec<_>>(),
        expected.iter().collect::<Vec<_>>()
    );
}

#[test]
fn collections_and_their_indexes_are_named_packed_or_not() {
    for name in ["plain.wt", "snappy.wt"] {
        let catalogue = fixture(name);
        let folder = folder_with(&[(mongodb::CATALOGUE, &catalogue)]);
        let files = [
            "collection-2--77.wt",
            "index-3--77.wt",
            // Its name before that has a page still.
            "collection-4--77.wt",
            "index-900--77.wt",
            "shop/collection-8--77.wt",
            "collection-40--77.wt",
            "collection-42--77.wt",
        ];
        let expected = [
            Some("shop.orders1"),
            Some("_id_ (index of shop.orders1)"),
            Some("shop.orders2"),
            Some("by_name (index of shop.orders3)"),
            Some("shop.orders4"),
            Some("shop.orders20"),
            None,
        ];
        let said = named(folder.path(), &files);
        assert_eq!(
            said.iter().map(Option::as_deref).collect::<Vec<_>>(),
            expected,
            "{name}"
        );
        // A database's own folder is below that of the catalogue.
        fs::create_dir(folder.path().join("shop")).unwrap();
        assert_eq!(
            of_folder(&folder.path().join("shop")),
            of_folder(folder.path())
        );
    }
}

#[test]
fn nothing_outside_is_read_or_named() {
    let list = fixture("MANIFEST-000005");
    let elsewhere = folder_with(&[("list", &list)]);
    let folder = folder_with(&[("CURRENT", b"MANIFEST-000005\n")]);
    symlink(
        elsewhere.path().join("list"),
        folder.path().join("MANIFEST-000005"),
    )
    .unwrap();
    assert!(of_folder(folder.path()).is_empty());
    for current in ["../list\n", "MANIFEST-../list", "MANIFEST-1\0", "\u{ff}"] {
        fs::write(folder.path().join("CURRENT"), current).unwrap();
        assert!(of_folder(folder.path()).is_empty(), "{current:?}");
    }
    let catalogue = fixture("plain.wt");
    let outside = catalogue.windows(19).position(|part| {
        part == b"collection-10--77\0\0" || part.starts_with(b"collection-10--77")
    });
    let mut catalogue = catalogue;
    let at = outside.unwrap();
    catalogue[at..at + 13].copy_from_slice(b"../../../../x");
    let folder = folder_with(&[(mongodb::CATALOGUE, &catalogue)]);
    let found = of_folder(folder.path());
    assert!(found.len() > 35 && found.keys().all(|path| !path.contains("..")));
}

#[test]
fn names_do_not_act_on_a_terminal() {
    let mut list = fixture("MANIFEST-000005");
    let at = list.windows(5).position(|part| part == b"users").unwrap();
    list[at..at + 5].copy_from_slice(b"\x1b[31m");
    let files: [(&str, &[u8]); 2] = [
        ("CURRENT", b"MANIFEST-000005\n"),
        ("MANIFEST-000005", &list),
    ];
    let folder = folder_with(&files);
    let said = named(folder.path(), &["000014.sst"]);
    assert_eq!(said[0].as_deref(), Some(r"column family \x1b[31m, level 6"));
}

proptest! {
    /// Whatever is written over them, also lengths: what is named is bounded by what is there.
    #[test]
    fn what_is_damaged_names_no_more_than_it_has(
        which in 0..3usize,
        damage in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..40),
        end in any::<prop::sample::Index>(),
    ) {
        let mut bytes = fixture(["MANIFEST-000005", "plain.wt", "snappy.wt"][which]);
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        bytes.truncate(end.index(bytes.len() + 1));
        let found = if which == 0 { rocksdb::names(&bytes) } else { mongodb::names(&bytes) };
        prop_assert!(found.len() <= bytes.len() / 8);
        prop_assert!(found.iter().all(|(_, name)| name.chars().count() <= 3 * MOST_NAME));
    }

    #[test]
    fn noise_is_read_to_its_end(bytes in proptest::collection::vec(any::<u8>(), 0..9000)) {
        let mut page = vec![0; 24];
        page.extend([7, 1, 0, 0]);
        page.extend(&bytes);
        mongodb::names(&page);
        rocksdb::names(&bytes);
    }
}
