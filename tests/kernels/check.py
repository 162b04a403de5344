"""One number of a recording held against what is known of it."""

from dataclasses import dataclass

from iowhy.recordings import Recording
from iowhy.relations import Relations


@dataclass(frozen=True)
class Check:
    """One number: what it is, what the recording says and what the program did."""

    name: str
    found: object
    expected: object

    @property
    def holds(self) -> bool:
        return self.found == self.expected


def one(recording: Recording, sql: str, *values: object) -> object:
    """The one value of a query over a recording's tables, or its one row of several."""
    with recording.connected() as connection:
        row = connection.execute(sql, values).fetchone()
    return row[0] if row and len(row) == 1 else row


def of_relations(recording: Recording, sql: str) -> object:
    """The one value of a query over a recording's relations."""
    with Relations(recording) as relations:
        ((value,),) = relations.rows(sql)
    return value
