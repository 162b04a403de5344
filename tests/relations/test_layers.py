"""The layers of relations: each names what it uses, uses those below it, and none is there for nobody."""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest

from iowhy.recordings.schema import tables
from iowhy.relations import relations
from iowhy.relations.relation import LAYERS, OF_FEW_ROWS, WITHOUT_THREADS, named_in
from tests.house import ROOT

FOLDER = ROOT / "python/iowhy/relations"
LAYER = {path.stem: path.parent.name for path in FOLDER.glob("*/*.sql")}
MOST_DEEP = 8


def used(name: str) -> set[str]:
    """The relations that one is made of."""
    return {one for one in relations()[name].uses if one in LAYER}


@pytest.mark.parametrize("name", sorted(LAYER))
def test_a_relation_says_what_it_uses_and_uses_what_lies_below(name: str) -> None:
    one = relations()[name]
    assert sorted(one.uses) == sorted(named_in(one.sql))
    for other in used(name):
        here, there = LAYER[name], LAYER[other]
        assert LAYERS.index(there) <= LAYERS.index(here), f"{other} lies above"
        assert not other.startswith("_") or here == there, f"{other} is of {there} alone"
    if one.filtered_as:
        assert not any(other.startswith("main.") for other in one.uses), "all of it is as recorded"
    assert name not in tables() or tables()[name].sums, "a table that is no sum"
    assert name in tables() or one.columns


def test_no_file_is_in_no_layer() -> None:
    assert {path.name for path in FOLDER.iterdir() if path.is_dir()} - {"__pycache__"} == {*LAYERS}
    assert not [*FOLDER.glob("*.sql")]
    assert len(LAYER) == len([*FOLDER.rglob("*.sql")])


def deepest(graph: Mapping[str, set[str]]) -> dict[str, int]:
    """How long the longest chain is that ends in each node; endless for circles."""

    @cache
    def depth(node: str) -> int:
        return 1 + max((depth(one) for one in graph[node]), default=0)

    return {node: depth(node) for node in graph}


def test_neither_within_a_layer_nor_of_layers_are_chains_long() -> None:
    within = {name: {one for one in used(name) if LAYER[one] == LAYER[name]} for name in LAYER}
    assert {name: long for name, long in deepest(within).items() if long > MOST_DEEP} == {}
    below: dict[str, set[str]] = {layer: set() for layer in LAYERS}
    for name in LAYER:
        below[LAYER[name]] |= {LAYER[one] for one in used(name)} - {LAYER[name]}
    assert max(deepest(below).values()) <= MOST_DEEP


def test_every_relation_is_used_and_private_ones_by_their_layer_alone() -> None:
    by_relations = {one for name in LAYER for one in used(name)}
    by_relations |= {*WITHOUT_THREADS.values(), *OF_FEW_ROWS.values()}
    words = {word for path in _users() for word in re.findall(r"\w+", path.read_text())}
    private = {name for name in LAYER if name.startswith("_")}
    assert private & words == set()
    assert sorted(LAYER.keys() - by_relations - words) == []


def _users() -> list[Path]:
    """What asks relations: reports, charts, measures, facts and whatever else has SQL."""
    found = [ROOT / "benchmarks/large.py", FOLDER / "change_points.py", FOLDER / "memory_sizes.py"]
    for path in (ROOT / "python").rglob("*"):
        if path.suffix in (".sql", ".py") and not path.is_relative_to(FOLDER):
            found.append(path)
    return found
