"""A machine that rests, the only one that does for sure: how often it is read then, and once a program computes."""

from collections.abc import Iterator
from pathlib import Path

from iowhy.recordings import open_recording

from .check import Check, one

#: How long it is let alone, and how long the program computes, which makes no records of its own; in s.
REST, COMPUTES = 8, 5
#: Of that, what is looked at: the rest has begun.
LOOKED_AT = 6
#: Readings a second that are too many for a rest (there is one in two seconds, and where others wake) and too few for work
#: (there are ten; the emulator may not get a CPU).
RESTING, WORKING = 1.25, 4.0
#: Until three readings have seen that somebody computes; a rest alone would take up to two seconds.
NOTICED_S = 0.6


def script() -> str:
    """Once the first files are closed, the recorder is under way."""
    return f"""
iowhy-record machine --mode bpf -o /out/rest.iowhy --duration 120 > /out/rest.txt 2>&1 &
recorder=$!
until ls /out/rest.iowhy/vm_samples/*.parquet > /out/rest.first 2>&1; do sleep 1; done
sh -c 'sleep {REST}; read at _ < /proc/uptime; echo $at > /out/rest.began; while :; do :; done' &
computes=$!
sleep {REST + COMPUTES}
read at _ < /proc/uptime
echo $at > /out/rest.ended
kill $computes
kill $recorder
wait $recorder
"""


def checks(out: Path) -> Iterator[Check]:
    """Readings in the rest and in the work, and how long it took to notice that the one had become the other."""
    began, ended = (float((out / f"rest.{name}").read_text()) for name in ("began", "ended"))
    recording = open_recording(out / "rest.iowhy")
    counted = "SELECT count(*) FROM vm_samples WHERE ts_ns / 1e9 BETWEEN ? AND ?"
    resting = one(recording, counted, began - LOOKED_AT, began)
    working = one(recording, counted, began + NOTICED_S, ended)
    # One may come by chance, and ends an interval of rest.
    third = "SELECT ts_ns / 1e9 FROM vm_samples WHERE ts_ns / 1e9 > ? ORDER BY 1 LIMIT 1 OFFSET 2"
    noticed = one(recording, third, began)
    assert isinstance(resting, int) and isinstance(working, int) and isinstance(noticed, float)
    yield Check("at rest it is read seldom", resting <= RESTING * LOOKED_AT, True)
    yield Check("and at all", resting > 0, True)
    often = working >= WORKING * (ended - began - NOTICED_S)
    yield Check("while somebody computes it is read often", often, True)
    yield Check("that somebody computes is noticed at once", noticed - began <= NOTICED_S, True)
    yield Check("lost at rest", recording.manifest.lost(), 0)
