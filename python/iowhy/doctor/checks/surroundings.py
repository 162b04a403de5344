"""Places that are no plain Linux machine: the table of them is surroundings.toml."""

import tomllib
from collections.abc import Mapping
from typing import Any

from iowhy.doctor.check import Check, Condition
from iowhy.doctor.machine import Machine
from iowhy.package_files import package_folder


def _look(machine: Machine) -> Condition | None:
    table = (package_folder("iowhy.doctor") / "surroundings.toml").read_text("utf-8")
    for place in tomllib.loads(table)["place"]:
        if not any(_is_there(sign, machine) for sign in place["signs"]):
            continue
        if place["state"] == "stops" and machine.programs_run:
            continue  # whatever it is called: here they do
        return Condition(place["state"], f"this is {place['name']}: {place['found']}", place["do"])
    return None


def _is_there(sign: Mapping[str, Any], machine: Machine) -> bool:
    text = (
        machine.environment.get(sign["variable"])
        if "variable" in sign
        else machine.text(sign["file"])
    )
    return text is not None and str(sign.get("has", "")) in text


CHECK = Check("surroundings", 20, _look)
