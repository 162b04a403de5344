"""Where a recording of many is: `date=YYYY-MM-DD/host=NAME/`, of the day (UTC) on which it began."""

import re
from pathlib import Path

UNKNOWN = "unknown"
#: Of the directory into which `iowhy fleet pack` puts those of a day and host (day_packs.py).
PACK_SUFFIX = ".iowhy-pack"
PACK = f"recordings{PACK_SUFFIX}"


def day_folder(day: str | None, host: str | None) -> Path:
    """The folder, relative to that of all days; `day` is YYYY-MM-DD.

    A host's name keeps letters, digits, dots and hyphens: what else is in it becomes a hyphen, and no folder is hidden.
    """
    name = re.sub(r"[^A-Za-z0-9.-]", "-", host or "").lstrip(".")
    return Path(f"date={day or UNKNOWN}") / f"host={name or UNKNOWN}"
