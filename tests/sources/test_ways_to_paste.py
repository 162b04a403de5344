"""However a text is wrapped, prefixed, quoted, framed or cut: the same verdict, or a less sure one; never a new cause, never healthy from a part."""

import random
import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from iowhy.errors import Problem
from iowhy.whys.verdict import Verdict
from tests.examples import costly

from .reading import one_of_each, verdict
from .ways_to_paste import PARTS, WHOLE, Way

WAYS = WHOLE | PARTS
TEXTS = one_of_each() + sorted((Path(__file__).parent / "pastes").glob("*.txt"))


def judged(text: str) -> Verdict | None:
    """None where no tool is recognised."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            return verdict(Path(folder), text)
        except Problem:
            return None


def causes(found: Verdict) -> dict[str, float]:
    return {one.cause: one.confidence for one in found.findings if not one.healthy}


def is_healthy(found: Verdict) -> bool:
    return any(one.healthy for one in found.findings)


def contrary(whole: Verdict, changed: Verdict | None) -> str:
    """How the verdict on a changed text contradicts that on the whole; "" if it does not."""
    if changed is None:
        return ""
    known = causes(whole)
    for cause, confidence in causes(changed).items():
        if cause not in known:
            return f"new: {cause}"
        if confidence > known[cause] + 0.01:
            return f"surer: {cause}"
    return "healthy" if is_healthy(changed) and not is_healthy(whole) else ""


def changed(path: Path, way: Way, seed: int) -> tuple[str, str]:
    """The text, and what a way makes of it."""
    text = path.read_text()
    return text, way(text, random.Random(seed))


@costly(4)
@given(path=st.sampled_from(TEXTS), way=st.sampled_from(sorted(WAYS)), seed=st.integers(0, 999))
def test_no_way_makes_a_contrary_verdict(path: Path, way: str, seed: int) -> None:
    text, other = changed(path, WAYS[way], seed)
    whole = judged(text)
    if whole is not None:
        assert contrary(whole, judged(other)) == "", (path.name, way, seed)
