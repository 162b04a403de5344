"""The number that an experiment is about: wall time, or one that the command prints."""

import re

from msgspec import Struct

from iowhy.errors import Problem


class Metric(Struct, frozen=True):
    """A number taken from the command's output: the last match of ``pattern``'s one group."""

    pattern: str
    name: str
    unit: str
    higher_is_better: bool

    def read(self, output: str) -> float:
        """Raises Problem when the output does not hold it, or it is not a positive number."""
        found = re.findall(self.pattern, output, re.MULTILINE)
        if not found:
            shown = output.strip().splitlines()[-1:] or [""]
            raise Problem("metric-not-found", pattern=self.pattern, shown=shown[0][:200])
        try:
            value = float(found[-1].replace(",", ""))
        except ValueError:
            value = -1.0
        if not 0 < value < float("inf"):
            raise Problem("metric-not-positive", pattern=self.pattern, found=found[-1])
        return value


def parse(pattern: str, lower_is_better: bool, unit: str) -> Metric:
    """A metric from the command line; its name is the text before the group."""
    try:
        groups = re.compile(pattern).groups
    except re.error as error:
        raise Problem("metric-not-a-pattern", pattern=pattern, error=error) from None
    if groups != 1:
        raise Problem("metric-needs-one-group", pattern=pattern)
    name = re.sub(r"[^\w/ ]", "", pattern.split("(")[0]).strip() or "metric"
    return Metric(pattern, name, unit, not lower_is_better)
