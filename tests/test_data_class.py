"""Classes made by ours against the same made by the standard library."""

import dataclasses
import inspect
from collections.abc import Callable
from typing import Any

import pytest

from iowhy.data_class import dataclass

Maker = Callable[..., Any]


def _made(maker: Maker, frozen: bool) -> Any:
    @maker(frozen=frozen)
    class Base:
        a: int
        b: str = "two"

    @maker(frozen=frozen)
    class Whole(Base):
        c: list[int] = dataclasses.field(default_factory=list)
        d: float = dataclasses.field(default=0.5, repr=False, compare=False)
        e: int = dataclasses.field(init=False, default=7)
        f: int = dataclasses.field(default=0, kw_only=True)

    Whole.__qualname__ = "Whole"
    return Whole


@pytest.mark.parametrize("frozen", [False, True])
@pytest.mark.parametrize(
    ("values", "named"),
    [
        ((1,), {}),
        ((1, "x", [3], 0.25), {"f": 9}),
        ((), {"a": 1, "c": [1, 2]}),
        ((), {"b": "x"}),
        ((1, "x", [], 0.5, 7), {}),
        ((1,), {"a": 2}),
        ((1,), {"e": 2}),
        ((1,), {"unknown": 2}),
        ((), {}),
    ],
)
def test_takes_and_shows_what_the_standard_library_does(
    frozen: bool, values: tuple[Any, ...], named: dict[str, Any]
) -> None:
    results = []
    for maker in (dataclass, dataclasses.dataclass):
        try:
            one = _made(maker, frozen)(*values, **named)
        except TypeError:
            results.append(None)
            continue
        kind = type(one)
        moved = dataclasses.replace(one, b="moved")
        results.append(
            (
                repr(one),
                dataclasses.asdict(one),
                [field.name for field in dataclasses.fields(one)],
                kind.__match_args__,
                one == kind(*values, **named),
                one == moved,
                one == dataclasses.replace(one, d=99.0),
                one != 3,
                repr(moved),
            )
        )
    assert results[0] == results[1]


def test_hash_and_change_go_by_frozen() -> None:
    for maker in (dataclass, dataclasses.dataclass):
        free, held = _made(maker, False)(1), _made(maker, True)(1, c=())
        free.a = 2
        assert free.a == 2
        with pytest.raises(TypeError):
            hash(free)
        assert hash(held) == hash(type(held)(1, c=()))
        with pytest.raises(dataclasses.FrozenInstanceError):
            held.a = 2
        with pytest.raises(dataclasses.FrozenInstanceError):
            del held.a


def test_defaults_are_each_objects_own_and_checks_run_after() -> None:
    @dataclass
    class Checked:
        rows: list[int] = dataclasses.field(default_factory=list)

        def __post_init__(self) -> None:
            if 3 in self.rows:
                raise ValueError

    first = Checked()
    first.rows.append(1)
    assert Checked().rows == []
    with pytest.raises(ValueError):
        Checked([3])


def test_what_a_class_says_itself_stays() -> None:
    @dataclass(frozen=True)
    class Own:
        a: int

        def __repr__(self) -> str:
            return "own"

        def __hash__(self) -> int:
            return 5

    assert (repr(Own(1)), hash(Own(1))) == ("own", 5)


@pytest.mark.parametrize("frozen", [False, True])
def test_its_signature_names_the_same_parameters(frozen: bool) -> None:
    def shown(maker: Maker) -> list[tuple[str, Any, Any, bool]]:
        parameters = inspect.signature(_made(maker, frozen)).parameters.values()
        return [(p.name, p.kind, p.annotation, p.default is p.empty) for p in parameters]

    assert shown(dataclass) == shown(dataclasses.dataclass)
