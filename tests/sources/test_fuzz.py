"""A bounded run of the fuzzer for each format, and all that it ever found."""

import contextlib
from pathlib import Path

import pytest

from iowhy.errors import Problem
from iowhy.sources.diagnose import diagnose
from iowhy.sources.formats import formats
from iowhy.whys.verdict import judge

from .fuzz import CORPUS, fails, mutant, seeds

SEEDS = seeds()
MUTANTS = 25


@pytest.mark.parametrize("name", sorted(SEEDS))
def test_damage_is_listed_and_never_raised(name: str) -> None:
    every = [data for found in SEEDS.values() for data in found]
    for seed in range(MUTANTS):
        data = mutant(SEEDS[name][seed % len(SEEDS[name])], every[seed * 7 % len(every)], seed)
        assert fails(data) is None, f"mutant of {name} with seed {seed}"


def test_every_format_that_reads_text_has_a_seed() -> None:
    # Logs that stream go through iowhy-logs or a database: their own tests damage them.
    reads = {form.name for form in formats() if form.read is not None and form.stream is None}
    assert reads <= set(SEEDS)


@pytest.mark.parametrize("path", sorted(CORPUS.glob("*")), ids=lambda path: path.name)
def test_what_once_failed(path: Path, tmp_path: Path) -> None:
    assert fails(path.read_bytes()) is None
    with contextlib.suppress(Problem):
        judge(diagnose([str(path)], tmp_path / "out.iowhy").recording)
