"""Which settings can be tried here."""

import os
from pathlib import Path

from iowhy.experiments.setting import Profile, Setting
from iowhy.tuning.knob import Clues
from iowhy.tuning.knobs import knobs
from iowhy.undo import Undo


def listed(directory: Path, *, allow_unsafe: bool = False) -> list[tuple[str, str, str]]:
    """Each setting: its name, what it would be tried with here, or why it cannot."""
    setting = Setting(("CMD",), directory, Undo(Path(os.devnull), -1), Profile(1.0, 1.0))
    rows = []
    for knob in knobs().values():
        values = knob.values(setting, Clues())
        why = knob.refusal(setting) or ""
        if knob.unsafe and not allow_unsafe:
            why = "may lose data: --allow-unsafe"
        elif not values and not why:
            why = "nothing to try here, or only with a recording"
        tried = ", ".join(knob.level(one).label for one in values)
        rows.append((knob.name, "" if why else tried, why))
    return rows
