"""The rows of a query, a batch at a time: what is written out may be larger than the memory."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from iowhy.errors import Problem

if TYPE_CHECKING:  # slow to import
    import pyarrow as pa

BATCH_ROWS = 10_000
#: Rows that are looked at before the first is handed on, to see of what types the columns are.
FIRST_BATCHES = 20


class Result:
    """Rows to be read once, of which no more than a few batches are in memory.

    Whole numbers are int64, shares and means float64; unknown is null. DuckDB sums whole numbers as 128-bit
    decimals: 64 bits again, which the tables had. Columns with a fraction, and those whose first rows do not fit,
    become float64.
    """

    def __init__(
        self,
        schema: "pa.Schema",
        batches: "Iterator[pa.RecordBatch]",
        count: Callable[[], int] | None = None,
    ) -> None:
        """`count` tells how many rows there are where not all of them are among the batches."""
        first = [batch for batch, _ in zip(batches, range(FIRST_BATCHES), strict=False)]
        self.schema = _plain_schema(schema, first)
        self._first = first
        self._rest = batches
        self._count = count

    @classmethod
    def of(cls, table: "pa.Table") -> "Result":
        """Rows that are in memory."""
        return cls(table.schema, iter(table.to_batches(max_chunksize=BATCH_ROWS)))

    def batches(self) -> "Iterator[pa.RecordBatch]":
        """The rows. Raises Problem for a sum that does not fit the type that its column has by its first rows."""
        import pyarrow as pa

        for source in (iter(self._first), self._rest):
            for batch in source:
                try:
                    columns = [
                        column.cast(field.type)
                        for column, field in zip(batch.columns, self.schema, strict=True)
                    ]
                except pa.ArrowInvalid as error:
                    raise Problem(f"a sum is beyond 64 bits ({error}): CAST it AS DOUBLE") from None
                yield pa.RecordBatch.from_arrays(columns, schema=self.schema)
        self._first = []

    def table(self) -> "pa.Table":
        """All rows, in memory."""
        import pyarrow as pa

        return pa.Table.from_batches(list(self.batches()), schema=self.schema)

    def head(self, rows: int) -> "tuple[pa.Table, int]":
        """The first rows, in memory, and how many there are in all."""
        import pyarrow as pa

        kept: list[pa.RecordBatch] = []
        seen = 0
        for batch in self.batches():
            if seen < rows:
                kept.append(batch.slice(0, rows - seen))
            seen += batch.num_rows
        return pa.Table.from_batches(kept, schema=self.schema), (
            seen if self._count is None else self._count()
        )


def _plain_schema(schema: "pa.Schema", first: "list[pa.RecordBatch]") -> "pa.Schema":
    import pyarrow as pa

    fields = []
    for place, field in enumerate(schema):
        kind = field.type
        if pa.types.is_decimal(kind):
            whole = kind.scale == 0 and all(_fits(batch.column(place)) for batch in first)
            kind = pa.int64() if whole else pa.float64()
        fields.append(pa.field(field.name, kind, field.nullable))
    return pa.schema(fields)


def _fits(column: "pa.Array") -> bool:
    import pyarrow as pa

    try:
        column.cast(pa.int64())
    except pa.ArrowInvalid:
        return False
    return True
