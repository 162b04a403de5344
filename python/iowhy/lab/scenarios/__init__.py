"""Scenarios: the five cases of the documentation, and the controls that must come out differently."""
