"""`make pictures`: the pictures of README and docs, from runs that are recorded for them (as root) or from recordings that are given.

python -m tests.page.pictures [BEFORE.iowhy AFTER.iowhy]
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from tests.page.browser import Page, browser, found

FOLDER = Path(__file__).parents[2] / "docs" / "pictures"
IOWHY = (sys.executable, "-m", "iowhy")
ROWS = 400
_INSERTS = "INSERT INTO items(name) VALUES('a row of some length for the table');\n" * ROWS
_TABLE = "CREATE TABLE items(id INTEGER PRIMARY KEY, name TEXT);\n"


def main(words: list[str]) -> None:
    """Writes docs/pictures/*.png."""
    if found() is None:
        sys.exit("chromium is missing: tools/setup test installs it")
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="iowhy-pictures-") as folder:
        sides = [Path(word) for word in words] or recorded(Path(folder))
        page, compared = Path(folder) / "page.html", Path(folder) / "compared.html"
        subprocess.run([*IOWHY, "html", str(sides[0]), "-o", str(page)], check=True)
        subprocess.run([*IOWHY, "html", *map(str, sides), "-o", str(compared)], check=True)
        with browser() as opened:
            take(opened, page, compared)


def recorded(folder: Path) -> list[Path]:
    """One transaction for each row, and one for all of them."""
    texts = {"before": _TABLE + _INSERTS, "after": f"{_TABLE}BEGIN;\n{_INSERTS}COMMIT;\n"}
    for name, text in texts.items():
        kept = (
            "run",
            "-o",
            str(folder / f"{name}.iowhy"),
            "--",
            "sqlite3",
            str(folder / f"{name}.db"),
        )
        subprocess.run([*IOWHY, *kept], input=text.encode(), check=True)
    return [folder / f"{name}.iowhy" for name in texts]


def take(opened: Page, page: Path, compared: Path) -> None:
    """The answer with its evidence, two charts, and a comparison; one of them dark."""
    opened.open(page, width=920)
    opened.picture(FOLDER / "page.png", "body", most=620)
    opened.open(page, width=920, dark=True)
    opened.picture(FOLDER / "latency.png", "#chart-request-latency-over-time")
    opened.open(page, width=920)
    opened.picture(FOLDER / "slowest.png", "#chart-slowest-calls")
    opened.open(compared, width=920)
    opened.picture(FOLDER / "difference.png", "#chart-difference")


if __name__ == "__main__":
    main(sys.argv[1:])
