"""One module per setting; see iowhy.tuning.knob for what each provides."""

from collections.abc import Mapping
from functools import cache

from iowhy.package_files import modules_of
from iowhy.tuning.knob import Knob


@cache
def knobs() -> Mapping[str, Knob]:
    """Every setting by its name."""
    return {module.KNOB.name: module.KNOB for module in modules_of(__name__)}
