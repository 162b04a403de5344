"""Sentences keep what they were made of, and each has its own id."""

import json
import pickle
import re
from collections import Counter

import pytest

from iowhy.sentences import Sentence, described, worded
from iowhy.whys.typed import Commands
from tests.words.catalogue import PACKAGE, catalogue


def test_values_are_written_by_their_kind() -> None:
    said = worded(
        "x", "{a:share} {b:ns} {c:bytes} {d:rate} {e:count} {f:count call} {g:count call} {h} {i:.1f}",
        a=0.5, b=112_000, c=4096, d=7e6, e=10_039, f=1, g=2, h="vda", i=2.04,
    )  # fmt: skip
    assert said == "50 % 112 µs 4 KiB 7 MB/s 10,039 1 call 2 calls vda 2.0"
    assert (said.id, said.values["e"]) == ("x", 10_039)
    assert worded("x", "{a:share}", a=None) == "unknown"
    with pytest.raises(KeyError):
        worded("x", "{a}")


def test_commands_are_put_in_and_a_copy_keeps_the_id(tmp_path) -> None:
    made = Commands(recording=tmp_path / "x.iowhy", mode="run")
    said = made.filled(worded("failing", "{n:count} fail (`iowhy report syscalls`)", n=3))
    assert isinstance(said, Sentence) and said.id == "failing" and "x.iowhy" in said
    copied = pickle.loads(pickle.dumps(said))
    assert (copied, copied.id, copied.values) == (said, "failing", {"n": 3})
    assert json.loads(json.dumps(described(said))) == {
        "id": "failing", "values": {"n": 3}, "sentence": str(said),
    }  # fmt: skip
    whole = described(worded("whole", "{part}.", part=said))
    assert json.loads(json.dumps(whole))["values"]["part"] == described(said)
    assert described("a text") == {"id": None, "values": {}, "sentence": "a text"}


def test_each_sentence_of_the_catalogue_has_its_own_id() -> None:
    counted = Counter(one.id for one in catalogue())
    assert [name for name, times in counted.items() if times > 1] == []
    # Two sentences differ in what they say, and so do their ids.
    assert [name for name in counted if re.search(r"-[1-5]$", name)] == []
    # Causes, programs, errors and helps are all there.
    assert {"flushes", "events-lost"} <= set(counted) and len(counted) > 4_000
    assert len(list(PACKAGE.glob("whys/causes/[a-z]*.py"))) == len(
        {name.split(".")[2] for name in counted if name.startswith("whys.causes.") and name.endswith("meaning.1")}
    )  # fmt: skip
