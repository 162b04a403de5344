"""What a lever did, next to what was predicted for the same change."""

from collections.abc import Sequence

from msgspec import Struct

from iowhy.experiments.interval import Interval
from iowhy.experiments.lever_answer import Answer
from iowhy.experiments.levers import levers


class Predicted(Struct, frozen=True):
    """Of a change by its id in `iowhy what-if`: times as long as without it."""

    change: str
    times: Interval


class Compared(Struct, frozen=True):
    """Times as long as without the change: predicted, and measured with the lever that makes it."""

    lever: str
    change: str
    predicted: Interval
    measured: Interval

    @property
    def agree(self) -> bool:
        """Whether both may be true."""
        low = self.measured.low if self.measured.known else self.measured.value
        high = self.measured.high if self.measured.known else self.measured.value
        return self.predicted.low <= high and low <= self.predicted.high


def compared(predicted: Sequence[Predicted], answers: Sequence[Answer]) -> tuple[Compared, ...]:
    """Those of levers that do what a prediction is about."""
    by_change = {one.change: one for one in predicted}
    found = []
    for answer in answers:
        made = by_change.get(levers()[answer.lever].predicted_by)
        if made is not None and answer.responses:
            measured = answer.responses[0].slower
            found.append(Compared(answer.lever, made.change, made.times, measured))
    return tuple(found)
