"""Scores answers to the set: `python -m benchmark.score ANSWERS [--held | --open]`.

ANSWERS has a line of JSON for each case: {"name": …, "causes": [[CAUSE, CONFIDENCE, SAVES], …], "seconds": …}, the first cause first, none
if it abstains; "healthy" is a cause. SAVES, the share of the time that its remedy could save, may be left out. Needs Python alone, so that it scores whatever diagnoses.
"""

import argparse
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median

INDEX = Path(__file__).with_name("index.json")
#: As sure as that is said as what it is; less is a guess.
SURE = 0.6
#: A saving is known as well as that.
NEAR = 0.2
#: What findings say of themselves, in tenths.
STEPS = (0.0, 0.4, 0.6, 0.8, 0.88, 1.01)
LEVELS = (1, 2, 3, 4)
#: What a resource's figures can say at most: which one it is. Other causes are storage's.
_RESOURCE = {"healthy": "none", "not-io": "none", "memory-pressure": "memory"}


def resource(cause: str) -> str:
    """Which resource a cause is about."""
    return _RESOURCE.get(cause, "cpu" if cause.startswith("cpu-") else "storage")


@dataclass(frozen=True)
class Scored:
    """One answer next to what is right."""

    level: int
    kind: str
    cause: str | None
    confidence: float
    right: bool
    resource: bool
    both: bool | None
    seconds: float
    #: How far what could be saved is from what was saved, where both are known and the cause is right.
    off: float | None = None

    @property
    def false_confidence(self) -> bool:
        """A wrong cause that is said to be sure."""
        return self.cause is not None and not self.right and self.confidence >= SURE

    @property
    def abstained(self) -> bool:
        """No cause, or one that is called a guess."""
        return self.cause is None or self.confidence < SURE


def scored(
    index: Iterable[dict], answers: Iterable[dict], held: bool | None = None
) -> list[Scored]:
    """Each answer of the cases that are asked for: all, the third that is held apart, or the others."""
    by_name = {one["name"]: one for one in answers}
    found = []
    for case in index:
        answer = by_name.get(case["name"])
        if answer is None or held not in (None, case["held"]):
            continue
        causes = [(str(one[0]), float(one[1])) for one in answer["causes"]]
        cause, confidence = causes[0] if causes else (None, 0.0)
        could = answer["causes"][0][2:] if cause in case["right"] else []
        rights = {*case["right"], *case["second"]}
        well = cause is None and "healthy" in rights  # where nothing is wrong, none is named
        named = {name for name, _ in causes}
        both = (
            None if not case["second"] else all(named & {*case[of]} for of in ("right", "second"))
        )
        found.append(
            Scored(
                level=case["level"], kind=case["kind"], cause=cause, confidence=confidence, right=cause in rights or well,
                resource=well or (cause is not None and resource(cause) in {resource(one) for one in rights}),
                both=both, seconds=answer["seconds"],
                off=abs(could[0] - case["saves"]) if could and case.get("saves") else None,
            )
        )  # fmt: skip
    return found


def table(found: Sequence[Scored]) -> str:
    """A Markdown table, a row a level."""
    heads = (
        "level",
        "cases",
        "first cause right",
        "right resource",
        "no cause, or a guess",
        "wrong and sure",
        "s, median",
    )
    lines = ["| " + " | ".join(heads) + " |", "|--:" * len(heads) + "|"]
    for level in (*LEVELS, None):
        of = [one for one in found if level in (None, one.level)]
        if of:
            cells = [
                "all" if level is None else str(level), str(len(of)), _share(of, "right"), _share(of, "resource"),
                _share(of, "abstained"), str(sum(one.false_confidence for one in of)), f"{median(one.seconds for one in of):.2f}",
            ]  # fmt: skip
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _share(of: Sequence[Scored], what: str) -> str:
    count = sum(bool(getattr(one, what)) for one in of)
    return f"{count} ({count / len(of):.0%})"


def curve(found: Sequence[Scored]) -> str:
    """Said confidence against how often it is right, of answers with a cause."""
    lines = ["| said | answers | right |", "|---|--:|--:|"]
    for least, most in pairwise(STEPS):
        of = [one for one in found if one.cause is not None and least <= one.confidence < most]
        if of:
            said = sum(one.confidence for one in of) / len(of)
            right = sum(one.right for one in of) / len(of)
            lines.append(
                f"| {said:.0%} ({least:.0%} to {min(most, 1):.0%}) | {len(of)} | {right:.0%} |"
            )
    return "\n".join(lines)


def pairs(found: Sequence[Scored]) -> str:
    """Of cases with two causes, how many name both."""
    of = [one for one in found if one.both is not None]
    return f"{sum(bool(one.both) for one in of)} of {len(of)}"


def savings(found: Sequence[Scored]) -> str:
    """Of answers that say what could be saved where that is known, how many are near it."""
    of = [one.off for one in found if one.off is not None]
    return f"{sum(off <= NEAR for off in of)} of {len(of)}"


def read(path: Path) -> list[dict]:
    """Lines of JSON."""
    return [json.loads(line) for line in path.read_text().splitlines() if line.strip()]


def main() -> None:
    """Prints the table and the curve."""
    parser = argparse.ArgumentParser(prog="python -m benchmark.score", description=__doc__)
    parser.add_argument("answers", type=Path)
    parser.add_argument("--held", action="store_true", help="only the third that is held apart")
    parser.add_argument("--open", action="store_true", help="only the others")
    words = parser.parse_args()
    held = None if words.held == words.open else words.held
    found = scored(json.loads(INDEX.read_text()), read(words.answers), held)
    print(
        f"{table(found)}\n\nBoth of two causes: {pairs(found)}\n"
        f"Savings within {NEAR:.0%}: {savings(found)}\n\n{curve(found)}"
    )


if __name__ == "__main__":
    main()
