//! The rows of every table, made from schema.toml by build.rs.

use std::borrow::Cow;

pub use crate::batch::Column;
use crate::sums::Sums;

/// A text value: most are one of a few static names (system calls, operations, flags).
pub type Name = Cow<'static, str>;

/// A row of one table.
pub trait Row {
    /// Name of the table.
    const TABLE: &'static str;
    /// Its place in [`TABLES`].
    const INDEX: usize;
    /// Moves the values to the ends of the table's columns.
    fn append(self, columns: &mut [Column]);
    /// Adds it to the sums over the whole recording, where there are any of its table.
    #[inline]
    fn sum(&self, _sums: &mut Sums) {}
}

/// One table of the schema.
#[derive(Debug)]
pub struct Table {
    pub name: &'static str,
    /// The column that orders the rows in time.
    pub time: Option<&'static str>,
    pub columns: &'static [ColumnType],
}

/// One column of a table.
#[derive(Debug)]
pub struct ColumnType {
    pub name: &'static str,
    pub kind: Kind,
    pub nullable: bool,
}

/// The types that a column can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Int,
    Float,
    Bool,
    Text,
    Ints,
    Texts,
}

include!(concat!(env!("OUT_DIR"), "/rows.rs"));
