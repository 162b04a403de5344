"""docs/accuracy.md from the JSON of `iowhy lab verify`: what was expected and found, and the table of confusion.

python -m iowhy.lab.accuracy FIRST.json SECOND.json … > docs/accuracy.md
"""

import json
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from iowhy.errors import Problem

_TITLE = "# Accuracy: is the true cause found?\n"

_HOW = """\
Each scenario of the [lab](lab.md) runs with its cause ("broken") and without ("fixed") on scratch devices. What is found is compared with
what is true.
"""

_COLUMNS = """\
| column | is |
|---|---|
| claims | the share of the broken run's time that the first finding is about |
| could save | the share that its first fix could save at most, as it says |
| saves | the share that the lab's fix saved |
| remedy | which of the finding's printed remedies that fix is |
| CPUs of others | what other programs used during the broken run; on a busy machine `cpu-saturated` is often the truth |
"""


def page(runs: Sequence[Mapping[str, Any]]) -> str:
    """The page as Markdown, for documents as `iowhy lab verify --json` prints them."""
    rows = [one for run in runs for one in run["scenarios"]]
    done = [one for one in rows if not one.get("not_run")]
    right = sum(bool(one["ok"]) for one in done)
    answer = f"**{right} of {len(done)}** scenario runs came out right.\n"
    parts = [_TITLE, answer, _gains(done), _HOW]
    if done:
        parts.append(_by_filesystem(done))
    parts.append(
        "| scenario | filesystem, device | seed, scale | expected | found | claims | could save | saves | remedy | fixed "
        "| CPUs of others | |\n|---|---|---|---|---|--:|--:|--:|--:|---|--:|---|"
    )
    for one in rows:
        fixed = (
            "–"
            if one["fixed_found"] is None
            else f"{one['fixed_found']} {_percent(one['fixed_share'])}"
        )
        others = "–" if one["others_cpus"] is None else f"{one['others_cpus']:.1f}"
        parts.append(
            f"| {one['name']} | {one['fs']}, {one['device']} | {one['seed']}, {one['scale']:g} "
            f"| {one['expected']} | {one['found'] or '–'} | {_percent(one['share'])} "
            f"| {_percent(one.get('could_save'))} | {_percent(one['gain'])} | {_remedy(one)} | {fixed} | {others} "
            f"| {_verdict(one)} |"
        )
    counts: Counter[tuple[str, str, bool]] = Counter()
    for run in runs:
        for cell in run["confusion"]:
            counts[cell["expected"], cell["found"], cell["right"]] += cell["count"]
    parts.append("\n## Confusion\n\nBroken and fixed runs, each with what is right for it.\n")
    parts.append("| expected | found | times | right |\n|---|---|--:|---|")
    for (expected, found, is_right), count in sorted(counts.items()):
        parts.append(f"| {expected} | {found} | {count} | {'yes' if is_right else '**no**'} |")
    return "\n".join(parts) + "\n"


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{share:.0%}"


def _gains(rows: Sequence[Mapping[str, Any]]) -> str:
    """How near what could be gained was to what the fix saved, over all rows that have both."""
    apart = [
        abs(one["could_save"] - one["gain"])
        for one in rows
        if one.get("could_save") is not None and one["gain"] is not None
    ]
    near = [sum(gap < limit for gap in apart) for limit in (0.2, 0.1)]
    return (
        f"Of the {len(apart)} with a fix, the gain of the first finding is within 20 points of what "
        f"the fix saved in {near[0]}, within 10 in {near[1]}.\n"
    )


#: What is aimed at, of all runs: the gain within 20 points, within 10, the first cause right.
AIMS = (0.9, 0.7, 0.97)


def _by_filesystem(rows: Sequence[Mapping[str, Any]]) -> str:
    """A table of the aims, one line for each filesystem."""
    lines = [
        "| filesystem | runs | first cause right | gain within 20 points | within 10 | healthy runs above 15 % |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for fs in dict.fromkeys(one["fs"] for one in rows):
        mine = [one for one in rows if one["fs"] == fs]
        right = sum(one["found"] in one["accepted"] for one in mine)
        apart = [
            abs(one["could_save"] - one["gain"])
            for one in mine
            if one.get("could_save") is not None and one["gain"] is not None
        ]
        within = [_of(sum(gap < limit for gap in apart), len(apart)) for limit in (0.2, 0.1)]
        wrong = sum(_claims_on_healthy(one) for one in mine)
        lines.append(
            f"| {fs} | {len(mine)} | {_of(right, len(mine))} | {within[0]} | {within[1]} | {wrong} |"
        )
    near, nearer, cause = AIMS
    return (
        "\n".join(lines)
        + f"\n\nAims: the first cause in at least {cause:.0%}, the gain within 20 points in {near:.0%}, within 10 in {nearer:.0%}; "
        "no finding above 15 % on a healthy run.\n\n" + _COLUMNS
    )


def _claims_on_healthy(one: Mapping[str, Any]) -> bool:
    """Whether a cause was found in a healthy run: a control, or the fixed one."""
    nothing = one["expected"] == "healthy"
    return any(
        "found" in text and (nothing or text.startswith("fixed: ")) for text in one["why_not"]
    )


def _of(number: int, whole: int) -> str:
    return f"{number} ({number / whole:.0%})" if whole else "–"


def _remedy(one: Mapping[str, Any]) -> str:
    tried = one.get("remedy")
    if tried is None:
        return "–"
    return (
        f"none of {tried['of']}"
        if tried["number"] is None
        else f"{tried['number']} of {tried['of']}"
    )


def _verdict(one: Mapping[str, Any]) -> str:
    if one.get("not_run"):
        return f"not run: {one['not_run']}"
    return "right" if one["ok"] else "**" + "; ".join(one["why_not"]).replace("|", "/") + "**"


def main(paths: Sequence[str]) -> None:
    """Prints the page for the files named. Raises Problem that names a file that is not such a document."""
    runs = []
    for path in paths:
        try:
            run = json.loads(Path(path).read_text())
            runs.append({"scenarios": run["scenarios"], "confusion": run["confusion"]})
        except (OSError, ValueError, KeyError, TypeError):
            raise Problem("not-lab-results", path=path) from None
    sys.stdout.write(page(runs))


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except Problem as problem:
        sys.exit(f"iowhy: {problem}")
