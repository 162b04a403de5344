"""What became of expectations: held, broken, or not known."""

from collections.abc import Sequence
from dataclasses import dataclass

from iowhy import units
from iowhy.expect.expectation import Expectation
from iowhy.measures import largest_file, values
from iowhy.recording import Recording
from iowhy.relations import Relations
from iowhy.tables import sensors
from iowhy.whys.verdict import Verdict

#: Of a measure, the part of one file from which that file is named.
PART = 0.1


@dataclass(frozen=True)
class Outcome:
    """`held` is None where it cannot be known, and `why` then says why; `file` is that of which most is."""

    expectation: Expectation
    held: bool | None
    value: float | None = None
    why: str | None = None
    file: str | None = None
    of_file: float | None = None

    @property
    def sentence(self) -> str:
        """It in one line: the number that was found, and the file that has most of it."""
        asked = self.expectation
        if self.held is None:
            return f"expected {asked.text}, which is not known: {self.why}"
        text = f"expected {asked.text}, found {units.amount(self.value, asked.unit)}"
        if self.file is None or self.value is None or self.of_file is None:
            return text
        part = "all" if self.of_file == self.value else units.amount(self.of_file, asked.unit)
        # Where many files have a little each, naming one would mislead.
        return f"{text}, {part} of {self.file}" if self.of_file >= PART * self.value else text


def outcomes(
    recording: Recording, verdict: Verdict, expected: Sequence[Expectation]
) -> list[Outcome]:
    """What became of each. Raises Problem for a recording that cannot be read."""
    asked = {one.measure.name: one.measure for one in expected if one.measure is not None}
    with recording.damage_named(), Relations.of(recording, keep=True) as relations:
        found = values(relations, asked.values())
        return [
            _of_cause(verdict, one)
            if one.measure is None
            else _of_measure(relations, one, found[one.measure.name])
            for one in expected
        ]


def _of_cause(verdict: Verdict, expected: Expectation) -> Outcome:
    if not verdict.budget.known:
        return Outcome(expected, None, why="the recording does not tell where the time went")
    share = sum(one.share for one in verdict.findings if one.cause == expected.cause)
    return Outcome(expected, expected.holds(share), share)


def _of_measure(relations: Relations, expected: Expectation, value: float | None) -> Outcome:
    measure = expected.measure
    assert measure is not None
    manifest = relations.recording.manifest
    if value is None:
        why = next(
            (s.why for s in manifest.sensors if s.name == measure.sensor and not s.ran), None
        )
        if manifest.ran(measure.sensor):
            return Outcome(expected, None, why="the run has nothing to measure it on")
        return Outcome(
            expected, None, why=f"{measure.sensor} did not run{f': {why}' if why else ''}"
        )
    held = expected.holds(value)
    lost = _lost(relations.recording, measure.sensor)
    # What was lost would have added to it: a bound above that was kept to may have been passed.
    if lost and held == expected.at_most:
        said = f"{units.amount(value, measure.unit)} were seen, and {lost:,} events were lost"
        return Outcome(expected, None, value, said)
    largest = None if held else largest_file(relations, measure)
    if largest is None:
        return Outcome(expected, held, value)
    return Outcome(expected, held, value, None, *largest)


def _lost(recording: Recording, sensor: str) -> int:
    kept = recording.manifest.tables
    known = sensors().get(sensor)
    return sum(kept[name].lost for name in (known.tables if known else ()) if name in kept)
