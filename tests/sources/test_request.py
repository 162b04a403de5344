"""One request, from options to the recorder's words."""

import subprocess
from dataclasses import fields
from pathlib import Path

import pytest

from iowhy.commands.record import request_of
from iowhy.options.described import build
from iowhy.options.record import Options
from iowhy.sources.live import RECORDER, program
from iowhy.sources.request import Request

OUT = Path("/r.iowhy")
EVERYTHING = {
    "run": Request(
        argv=("dd", "-x"), user="u", max_time_ns=1_500_000_000, max_size_bytes=9, stacks=True
    ),
    "attach": Request(pids=(4, 5), descendants=True, duration_ns=2_000_000_000),
    "group": Request(cgroups=("/a",), containers=("-b", "c"), pods=("d",), duration_ns=1),
    "machine": Request(mode="proc", close_every_ns=1_000_000_000, duration_ns=1),
}


def test_fields_are_words() -> None:
    assert EVERYTHING["run"].words(OUT) == [
        "run", "--out=/r.iowhy", "--max-time=1.5", "--max-size=9", "--stacks", "--user=u", "--mode=auto",
        "--", "dd", "-x",
    ]  # fmt: skip
    assert EVERYTHING["attach"].words(OUT)[1:] == [
        "--out=/r.iowhy", "--pid=4", "--pid=5", "--descendants", "--duration=2.0", "--mode=auto",
    ]  # fmt: skip


@pytest.mark.parametrize("kind", EVERYTHING)
def test_the_recorder_knows_each_of_them(kind: str) -> None:
    words = EVERYTHING[kind].words(OUT)
    said = subprocess.run(
        [program(RECORDER), kind, "--help"], check=True, capture_output=True, text=True
    ).stdout
    flags = {word.split("=")[0] for word in words[1:] if word.startswith("--")} - {"--"}
    assert words[0] == kind and flags <= set(said.replace(",", " ").split()), flags


@pytest.mark.parametrize(
    "given",
    [
        {"argv": ("true",), "max_time_ns": 7, "max_size_bytes": 8, "mode": "proc"},
        {"pids": (1,), "duration_ns": 9},
        {"containers": ("web",), "pods": ("p",), "cgroups": ("/g",)},
    ],
)
def test_options_of_a_requests_name_are_its_fields(given: dict[str, object]) -> None:
    request = request_of(build(Options, given))
    assert {name: getattr(request, name) for name in given} == given
    assert {one.name for one in fields(Options)} >= given.keys()


def test_who_outlives_us_and_whose_children() -> None:
    def of(**given: object) -> Request:
        return request_of(build(Options, {"quiet": True, **given}))

    assert of(argv=("true",)).outlives_us and not of(argv=("true",), on_death="end").outlives_us
    assert of(pids=(1,)).descendants and not of(pids=(1,), alone=True).descendants
    assert not of(pids=(1,)).outlives_us and of(pids=(1,)).says is None
