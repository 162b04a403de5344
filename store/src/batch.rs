//! Rows that wait to be written, column by column, in the shape in which Parquet takes them.

use crate::rows::{Kind, Name, Table};

/// The values of one column. `levels` (definition) and `repeats` (repetition) are Parquet's: a nullable
/// column has a level per row (1 there, 0 NULL), a list has a level and a repetition per element or,
/// when empty, one of 0. The values hold only what is there.
#[derive(Debug)]
pub struct Column {
    pub(crate) values: Values,
    pub(crate) levels: Vec<i16>,
    pub(crate) repeats: Vec<i16>,
}

#[derive(Debug)]
pub(crate) enum Values {
    Ints(Vec<i64>),
    Floats(Vec<f64>),
    Bools(Vec<bool>),
    Texts(Vec<Name>),
}

macro_rules! append {
    ($required:ident, $optional:ident, $variant:ident, $kind:ty) => {
        #[inline(always)]
        pub(crate) fn $required(&mut self, value: $kind) {
            match &mut self.values {
                Values::$variant(values) => values.push(value),
                _ => unreachable!("type of a column"),
            }
        }

        #[inline(always)]
        pub(crate) fn $optional(&mut self, value: Option<$kind>) {
            self.levels.push(i16::from(value.is_some()));
            if let Some(value) = value {
                self.$required(value);
            }
        }
    };
}

impl Column {
    append!(int, optional_int, Ints, i64);
    append!(float, optional_float, Floats, f64);
    append!(bool, optional_bool, Bools, bool);
    append!(text, optional_text, Texts, Name);

    #[inline]
    pub(crate) fn texts(&mut self, list: Vec<Name>) {
        self.list_levels(list.len());
        list.into_iter().for_each(|value| self.text(value));
    }

    #[inline]
    pub(crate) fn ints(&mut self, list: Vec<i64>) {
        self.list_levels(list.len());
        list.into_iter().for_each(|value| self.int(value));
    }

    fn list_levels(&mut self, len: usize) {
        self.levels.push(i16::from(len > 0));
        self.repeats.push(0);
        for _ in 1..len {
            self.levels.push(1);
            self.repeats.push(1);
        }
    }

    fn new(kind: Kind) -> Column {
        let values = match kind {
            Kind::Int | Kind::Ints => Values::Ints(Vec::new()),
            Kind::Float => Values::Floats(Vec::new()),
            Kind::Bool => Values::Bools(Vec::new()),
            Kind::Text | Kind::Texts => Values::Texts(Vec::new()),
        };
        Column {
            values,
            levels: Vec::new(),
            repeats: Vec::new(),
        }
    }

    fn clear(&mut self) {
        match &mut self.values {
            Values::Ints(values) => values.clear(),
            Values::Floats(values) => values.clear(),
            Values::Bools(values) => values.clear(),
            Values::Texts(values) => values.clear(),
        }
        self.levels.clear();
        self.repeats.clear();
    }

    /// Adds the rows of another column of the same type, which it leaves empty.
    fn append(&mut self, other: &mut Column) {
        match (&mut self.values, &mut other.values) {
            (Values::Ints(values), Values::Ints(more)) => values.append(more),
            (Values::Floats(values), Values::Floats(more)) => values.append(more),
            (Values::Bools(values), Values::Bools(more)) => values.append(more),
            (Values::Texts(values), Values::Texts(more)) => values.append(more),
            _ => unreachable!("type of a column"),
        }
        self.levels.append(&mut other.levels);
        self.repeats.append(&mut other.repeats);
    }
}

/// Rows of one table.
#[derive(Debug)]
pub(crate) struct Batch {
    pub columns: Vec<Column>,
    pub rows: usize,
}

impl Batch {
    pub fn new(table: &Table) -> Batch {
        let columns = table.columns.iter().map(|c| Column::new(c.kind)).collect();
        Batch { columns, rows: 0 }
    }

    /// Adds the rows of another batch of the same table, which it leaves empty.
    pub fn append(&mut self, other: &mut Batch) {
        for (column, more) in self.columns.iter_mut().zip(&mut other.columns) {
            column.append(more);
        }
        self.rows += std::mem::take(&mut other.rows);
    }

    /// Empties it and keeps the memory for the next rows.
    pub fn clear(&mut self) {
        self.columns.iter_mut().for_each(Column::clear);
        self.rows = 0;
    }
}
