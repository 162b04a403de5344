"""Scenarios: the five cases of the documentation, and the controls that must come out differently."""

from difflib import get_close_matches
from functools import cache

from iowhy.errors import Problem
from iowhy.lab.scenario import Scenario
from iowhy.package_files import modules_of


@cache
def scenarios() -> tuple[Scenario, ...]:
    """Every scenario: the five cases in their order, then the controls by name."""
    found: list[Scenario] = []
    for module in modules_of(__name__):
        found += getattr(module, "SCENARIOS", ())
        if isinstance(getattr(module, "SCENARIO", None), Scenario):
            found.append(module.SCENARIO)
    return tuple(sorted(found, key=lambda scenario: (scenario.case or 99, scenario.name)))


def scenario(name: str) -> Scenario:
    """A scenario by name. Raises Problem that names the nearest one."""
    for found in scenarios():
        if found.name == name:
            return found
    near = get_close_matches(name, [found.name for found in scenarios()], 1)
    meant = f"; did you mean {near[0]}?" if near else ";"
    raise Problem("no-such-scenario", name=name, meant=meant)
