"""The tables of a recording as those of Arrow, which tests and benchmarks make rows with."""

import pyarrow as pa

from iowhy.recordings.schema import Table, tables

_TYPES = {
    "int": pa.int64(),
    "float": pa.float64(),
    "bool": pa.bool_(),
    "text": pa.string(),
    "ints": pa.list_(pa.int64()),
    "texts": pa.list_(pa.string()),
}


def arrow_schema(table: Table) -> pa.Schema:
    """The schema of a table's Parquet files."""
    return pa.schema(
        [pa.field(c.name, _TYPES[c.type], nullable=c.null is not None) for c in table.columns]
    )


def in_schema(name: str, given: pa.Table) -> pa.Table:
    """Rows with exactly the columns of the schema; those that they lack are NULL."""
    schema = arrow_schema(tables()[name])
    columns = [
        given.column(field.name).cast(field.type)
        if field.name in given.column_names
        else pa.nulls(given.num_rows, field.type)
        for field in schema
    ]
    return pa.table(columns, schema=schema)
