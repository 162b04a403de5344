"""Writes what the scorer says into docs/reliability.md: `python -m benchmark.page FOLDER`, which has the answers of iowhy and of the baseline."""

import json
import re
import sys
from pathlib import Path

from benchmark.cases import ENOUGH, SAVED
from benchmark.score import INDEX, NEAR, curve, pairs, read, savings, scored, table

PAGE = Path(__file__).parents[1] / "docs" / "reliability.md"
_MARKED = re.compile(r"(<!-- benchmark -->\n).*?(\n<!-- end -->)", re.S)


def text(folder: Path) -> str:
    """Tables of both, the third held apart, and what said confidence is worth."""
    index, tried = json.loads(INDEX.read_text()), json.loads(SAVED.read_text())
    ours, theirs = (read(folder / f"{who}.jsonl") for who in ("iowhy", "use"))
    every, held, use = scored(index, ours), scored(index, ours, held=True), scored(index, theirs)
    of_runs = sum(one.kind == "recording" for one in every)
    return "\n\n".join(
        (
            f"{len(every)} cases: {of_runs} recordings, {len(every) - of_runs} texts. Of {len(tried)} real programs that were tried, "
            f"{sum(one >= ENOUGH for one in tried.values())} are in: their remedy saved more than half of their time.",
            table(every),
            f"The third that is held apart ({len(held)}):",
            table(held),
            "Thresholds of the USE method on the same readings:",
            table(use),
            f"Both of two causes are named in {pairs(every)}. What the first fix could save is within {NEAR:.0%} of what the remedy "
            f"saved in {savings(every)} real programs.",
            curve(every),
        )
    )


if __name__ == "__main__":
    said = text(Path(sys.argv[1]))
    PAGE.write_text(_MARKED.sub(lambda found: f"{found[1]}{said}{found[2]}", PAGE.read_text()))
    print(said)
