"""Comparison: did the change help, what changed at each layer, and is the cause's fingerprint gone."""
