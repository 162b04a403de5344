"""Each text that formats are tried with, read and judged once: what is printed can be typed, has its rows, and fits on a screen."""

import re
from pathlib import Path

import pytest

from iowhy.cli.diagnose import what_to_run_next
from iowhy.commands.overview import overview
from iowhy.errors import Problem
from iowhy.messages import json_text
from iowhy.relations import Relations
from iowhy.sources.diagnose import diagnose
from iowhy.views import diagnosis, diagnosis_json
from iowhy.whys.facts.busy_processes import busiest
from tests.one_screen import fits
from tests.whys.conftest import with_rows

from .reading import FIXTURES

TEXTS = sorted({*FIXTURES.glob("*.*"), *FIXTURES.rglob("*.txt"), *FIXTURES.rglob("*.json")})


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)
def test_what_is_printed_can_be_typed_has_its_rows_and_fits(path: Path, tmp_path: Path) -> None:
    try:
        found = diagnose([str(path)], tmp_path / "out.iowhy")
    except Problem:
        return
    judged = overview(found.recording)
    with Relations(found.recording) as relations:
        processes = busiest(relations)
        steps = what_to_run_next(found, judged.verdict, relations, processes)
    for step in steps:
        assert not re.search(r"\{|\b(PID|FILE|TRACE|COPY|CMD)\b", step.command), step
    assert json_text(diagnosis_json.as_json(found, judged.verdict, steps, processes))
    with_rows(found.recording, judged.verdict)
    fits(lambda out: diagnosis.show(out, judged, found, steps))
