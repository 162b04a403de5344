"""Comparison: did the change help, what changed at each layer, and is the cause's fingerprint gone."""

from iowhy.callable_package import make_callable

make_callable(__name__)
