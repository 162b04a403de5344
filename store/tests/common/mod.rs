//! Reading a recording back, by the Parquet crate's row API.
#![allow(dead_code)] // each test file uses a part

use std::path::{Path, PathBuf};

use iowhy_store::{rows, Name};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Field, Row};

pub fn files(dir: &Path, table: &str) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(dir.join(table))
        .into_iter()
        .flatten()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "parquet"))
        .collect();
    paths.sort();
    paths
}

pub fn read(dir: &Path, table: &str) -> Vec<Row> {
    let mut all = Vec::new();
    for path in files(dir, table) {
        let reader = SerializedFileReader::new(std::fs::File::open(path).unwrap()).unwrap();
        all.extend(reader.get_row_iter(None).unwrap().map(Result::unwrap));
    }
    all
}

/// A value of a row.
pub fn field<'a>(row: &'a Row, name: &str) -> &'a Field {
    row.get_column_iter().find(|(n, _)| *n == name).unwrap().1
}

pub fn temporaries(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(temporaries(&path));
        } else if path.extension().is_some_and(|e| e == "tmp") {
            found.push(path);
        }
    }
    found
}

pub fn request(i: i64) -> rows::BlockRequests {
    rows::BlockRequests {
        queue_ns: 1_000 * i,
        issue_ns: (i % 3 != 0).then_some(1_000 * i + 7),
        dev: 254 << 20,
        sector: (i % 5 != 0).then_some(i64::MAX - i),
        bytes: 4096,
        op: if i % 2 == 0 {
            "read".into()
        } else {
            Name::Owned(format!("op {i}"))
        },
        flags: (0..i % 4)
            .map(|f| ["sync", "fua", "preflush"][f as usize].into())
            .collect(),
        in_scope: (i % 7 != 0).then_some(i % 2 == 0),
        ..Default::default()
    }
}

/// Whether a row that was read is the one that was written.
pub fn same(row: &Row, expected: &rows::BlockRequests) {
    let int = |name: &str| match field(row, name) {
        Field::Long(value) => Some(*value),
        Field::Null => None,
        other => panic!("{name}: {other:?}"),
    };
    assert_eq!(int("queue_ns"), Some(expected.queue_ns));
    assert_eq!(int("issue_ns"), expected.issue_ns);
    assert_eq!(int("complete_ns"), None);
    assert_eq!(int("dev"), Some(expected.dev));
    assert_eq!(int("sector"), expected.sector);
    assert_eq!(*field(row, "op"), Field::Str(expected.op.to_string()));
    let Field::ListInternal(flags) = field(row, "flags") else {
        panic!("flags")
    };
    let expected_flags: Vec<Field> = expected
        .flags
        .iter()
        .map(|f| Field::Str(f.to_string()))
        .collect();
    assert_eq!(flags.elements(), expected_flags);
    let scope = expected.in_scope.map_or(Field::Null, Field::Bool);
    assert_eq!(*field(row, "in_scope"), scope);
}

/// Numbers as they come (Marsaglia's xorshift64*), each run the same.
pub struct Draw(pub u64);

impl Draw {
    pub fn below(&mut self, n: i64) -> i64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as i64 % n
    }

    pub fn one_of(&mut self, names: &[&'static str]) -> rows::Name {
        names[self.below(names.len() as i64) as usize].into()
    }

    pub fn maybe(&mut self, n: i64) -> Option<i64> {
        (self.below(4) > 0).then(|| self.below(n))
    }
}

/// A whole number, or 1 for true; None: NULL.
pub fn number(row: &Row, name: &str) -> Option<i64> {
    match field(row, name) {
        Field::Long(value) => Some(*value),
        Field::Null => None,
        Field::Bool(value) => Some((*value).into()),
        other => panic!("{name}: {other:?}"),
    }
}

pub fn numbers(row: &Row, name: &str) -> Vec<i64> {
    match field(row, name) {
        Field::ListInternal(list) => list
            .elements()
            .iter()
            .map(|one| match one {
                Field::Long(value) => *value,
                other => panic!("{name}: {other:?}"),
            })
            .collect(),
        other => panic!("{name}: {other:?}"),
    }
}
