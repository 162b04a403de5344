"""How often the first finding is true: every scenario of the lab, in rounds of other seeds and sizes.

python -m benchmarks.accuracy [ROUNDS]      writes docs/accuracy.md; half an hour for 3 rounds
"""

import sys
from collections import Counter
from pathlib import Path

from iowhy.lab import verify
from iowhy.lab.scenario import scenarios
from iowhy.lab.verify import Check
from iowhy.undo import recover
from iowhy.views.units import percent

PAGE = Path(__file__).parents[1] / "docs" / "accuracy.md"
ROUNDS = ((1, 1.0), (2, 0.7), (3, 1.4))  # seed and scale
FILESYSTEMS = ("ext4", "xfs", "btrfs")

HEAD = """\
# What iowhy finds, against what is true

<!-- Made by `python -m benchmarks.accuracy`. -->

Each scenario of the lab ([lab.md](lab.md)) is run with its cause and, where there is a fix, without it. The
cause is known because the lab made it. A run is right when the first finding is the expected cause (or one
of the other names that are true for it), and, where nothing should be found, when nothing is claimed for more than
15 % of the time.
"""


def main(rounds: int) -> int:
    """Run the rounds, write the page; exit status 1 when a run was not right."""
    recover()
    checks: list[Check] = []
    for seed, scale in ROUNDS[:rounds]:
        for fs in FILESYSTEMS if seed == 1 else FILESYSTEMS[:2]:
            # On btrfs only the cases: the controls say nothing about filesystems.
            chosen = [one for one in scenarios() if fs != "btrfs" or one.case is not None]
            for check in verify.verify(chosen, fs=fs, seed=seed, scale=scale, progress=_say):
                checks.append(check)
                _say(f"  {'ok' if check.ok else 'NOT OK: ' + '; '.join(check.why)}")
    PAGE.write_text(page(checks))
    return 0 if all(check.ok for check in checks) else 1


def page(checks: list[Check]) -> str:
    """The whole page: summary, confusion table, a row per run, what was not right."""
    confusion = verify.confusion(checks)
    total = sum(count for _, _, count, _ in confusion)
    right = sum(count for _, _, count, good in confusion if good)
    lines = [HEAD, f"**{right} of {total} runs are right.**\n", "## Confusion", ""]
    lines += ["| expected | found | runs | right |", "|---|---|---|---|"]
    lines += [f"| {e} | {f} | {n} | {'yes' if good else '**no**'} |" for e, f, n, good in confusion]
    lines += ["", "## Claims and gains", ""]
    lines.append(
        "`claims` is the share of the time that the first finding explains, `saves` what the fix saved. On the "
        "emulated disk they should be within 20 points; elsewhere the machine's noise is in them.\n"
    )
    lines += [
        "| scenario | filesystem | device | seed, size | found | claims | saves | with the fix | right |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for check in checks:
        found = check.broken
        lines.append(
            f"| {check.scenario.name} | {check.choice.fs} | {check.choice.device} "
            f"| {check.choice.seed}, {check.choice.scale:g} "
            f"| {found.found if found else '–'} | {percent(found.share) if found else '–'} "
            f"| {percent(check.gain) if check.gain is not None else '–'} "
            f"| {check.fixed.found if check.fixed else '–'} | {'yes' if check.ok else '**no**'} |"
        )
    wrong = Counter(
        f"{check.scenario.name} on {check.choice.fs}: {text}"
        for check in checks
        for text in check.why
    )
    if wrong:
        lines += ["", "## What was not right", ""]
        lines += [f"- {text}" + (f" ({n} times)" if n > 1 else "") for text, n in wrong.items()]
    return "\n".join(lines) + "\n"


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else len(ROUNDS)))
