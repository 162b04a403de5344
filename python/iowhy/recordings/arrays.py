"""Columns with unknown values as arrays of numpy."""

from collections.abc import Sequence
from typing import Any

import numpy as np


def masked(known: Any, values: Sequence[object]) -> Any:
    """Numbers, masked where `values` have none; `known` holds something in its place."""
    return np.ma.masked_array(known, [value is None for value in values])


def objects(values: Sequence[object]) -> Any:
    """Texts and lists, None where unknown: numpy must not look into them."""
    return np.fromiter(values, object, len(values))
