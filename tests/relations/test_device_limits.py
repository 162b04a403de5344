"""device_limits: what the control groups allow on each device, and what the command did there."""

from iowhy.relations import Relations
from tests.reports.conftest import Make, limited


def test_limits_of_each_device_beside_what_was_done_there(make: Make) -> None:
    rec = make(limited())
    with Relations(rec) as relations:
        rows = relations.rows("SELECT * FROM device_limits ORDER BY dev")
    assert rows == [
        (7, None, 500, 4, None, 0, 0, 0, 0),
        (8, 2000, None, None, 7, 1, 1, 4096, 512),
    ]
