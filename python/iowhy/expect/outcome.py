"""What became of expectations: held, broken, or not known."""

from collections.abc import Sequence

from msgspec import Struct

from iowhy import units
from iowhy.expect.expectation import Expectation
from iowhy.measures import Measure, Part, largest_call, largest_file, values
from iowhy.recordings import Recording
from iowhy.recordings.manifest import Manifest
from iowhy.relations import Relations
from iowhy.tables import sensors
from iowhy.units import percent
from iowhy.whys.causes import cause_named
from iowhy.whys.in_whose_code import Path, callers, in_words, path_of_calls
from iowhy.whys.verdict import Verdict

#: Of a measure, the part of one file or call from which it is named.
PART = 0.1


class Outcome(Struct, frozen=True):
    """`held` is None where it cannot be known, and `why` then says why.

    `file` and `call` are those of which most is, where it was broken; `path` is the code that makes those calls.
    `summary`: of a cause what its finding says, with the file or device where it names one.
    """

    expectation: Expectation
    held: bool | None
    value: float | None = None
    why: str | None = None
    file: Part | None = None
    call: Part | None = None
    path: Path | None = None
    summary: str | None = None

    @property
    def sentence(self) -> str:
        """It in one line: the number that was found, and the file that has most of it."""
        asked = self.expectation
        if self.held is None:
            return f"expected {asked.text}, which is not known: {self.why}"
        found = units.amount(self.value, asked.unit)
        if (
            not self.held
            and self.value is not None
            and found == units.amount(asked.bound, asked.unit)
        ):
            found = f"{self.value:,.12g} ({asked.bound:,.12g} allowed)"  # the same when rounded
        text = f"expected {asked.text}, found {found}"
        if self.summary is not None:
            text += f": {self.summary}"
        # Where many have a little each, naming one would mislead.
        named = [
            f"{self._share(part)} {word} {part.name}"
            for word, part in (("of", self.file), ("by", self.call))
            if part is not None and self.value is not None and part.value >= PART * self.value
        ]
        if self.path is not None:
            named.append(
                f"{percent(self.path.share)} of them called by {in_words(callers(self.path.frames))}"
            )
        return ", ".join([text, *named])

    def _share(self, part: Part) -> str:
        if part.value == self.value:
            return "all"
        return units.amount(part.value, self.expectation.unit)


def outcomes(
    recording: Recording, verdict: Verdict | None, expected: Sequence[Expectation]
) -> list[Outcome]:
    """What became of each; only causes need the verdict. Raises Problem for a recording that cannot be read."""
    asked = {one.measure.name: one.measure for one in expected if one.measure is not None}
    with recording.damage_named(), Relations(recording) as relations:
        found = values(relations, asked.values())
        return [
            _of_cause(recording.manifest, verdict, one)
            if one.measure is None
            else _of_measure(relations, one, found[one.measure.name])
            for one in expected
        ]


def _of_cause(manifest: Manifest, verdict: Verdict | None, expected: Expectation) -> Outcome:
    assert verdict is not None
    if not verdict.budget.known:
        return Outcome(expected, None, why="the recording does not say where the time went")
    found = [one for one in verdict.findings if one.cause == expected.cause]
    cause = cause_named(expected.cause)
    unseen = None if found or cause is None else cause.why_unseen(manifest)
    if unseen is not None:
        return Outcome(expected, None, why=unseen)
    share = sum(one.share for one in found)
    held = expected.holds(share)
    if held or share < expected.bound or not found:
        return Outcome(expected, held, share)
    frames = next((link.frames for link in found[0].chain if link.frames), ())
    by = f", called by {in_words(callers(frames))}" if frames else ""
    return Outcome(expected, held, share, summary=f"{found[0].summary}{by}")


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
    of = _tables_of(measure)
    wrong = next((one for one in relations.facts.mismatches if one.table in of), None)
    if wrong is not None:
        why = f"the recording is not whole ({wrong.table}: {wrong.words})"
        return Outcome(expected, None, value, why)
    held = expected.holds(value)
    lost = lost_events(relations.recording, measure)
    # What was lost would have added to it: a bound above that was kept to may have been passed.
    if lost and expected.may_change(value):
        said = f"{units.amount(value, measure.unit)} were seen, and {lost:,} events were lost"
        return Outcome(expected, None, value, said)
    # Of what is too little no file has too much.
    if held or value < expected.bound:
        return Outcome(expected, held, value)
    file, call = largest_file(relations, measure), largest_call(relations, measure)
    path = path_of_calls(relations, call.name) if call is not None else None
    return Outcome(expected, held, value, None, file, call, path)


def lost_events(recording: Recording, measure: Measure) -> int:
    """How many events that a measure counts were lost; 0 if none."""
    kept = recording.manifest.tables
    return sum(kept[name].lost for name in _tables_of(measure) if name in kept)


def _tables_of(measure: Measure) -> tuple[str, ...]:
    known = sensors().get(measure.sensor)
    return tuple(known.tables) if known else ()
