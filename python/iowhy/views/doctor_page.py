"""What `iowhy doctor` found: the answer, then a line for each thing that plays a part."""

import json

from iowhy.doctor import Examination
from iowhy.views.terminal import console, paragraph

_MARKS = {"works": "✓", "limits": "!", "stops": "✗"}
_SUBJECT_WIDTH = 16


def show(found: Examination, *, as_json: bool) -> None:
    """Prints it to stdout."""
    if as_json:
        print(json.dumps(_as_json(found), indent=1))
        return
    out = console()
    paragraph(out, found.answer, "bold")
    out.print()
    for check, condition in found.conditions:
        told = f"{_MARKS[condition.state]} {check.subject:<{_SUBJECT_WIDTH}}"
        remedy = "" if condition is found.stopped else condition.remedy
        text = f"{condition.found}. {remedy}" if remedy else condition.found
        paragraph(out, f"{told}{text}", indent=2, hang=_SUBJECT_WIDTH + 2)


def _as_json(found: Examination) -> dict[str, object]:
    return {
        "version": 1,
        "ok": found.stopped is None,
        "answer": found.answer,
        "conditions": [
            {
                "subject": check.subject,
                "state": one.state,
                "found": one.found,
                "remedy": one.remedy or None,
            }
            for check, one in found.conditions
        ],
        "sensors": [
            {"name": sensor.name, "ran": sensor.ran, "why": sensor.why}
            for sensor in found.machine.sensors
        ],
    }
