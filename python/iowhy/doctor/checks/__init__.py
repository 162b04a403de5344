"""The checks: a file each, with `CHECK`."""

from functools import cache

from iowhy.doctor.check import Check
from iowhy.package_files import modules_of


@cache
def checks() -> tuple[Check, ...]:
    """Every check, in order."""
    modules = modules_of(__name__)
    return tuple(sorted((module.CHECK for module in modules), key=lambda check: check.order))
