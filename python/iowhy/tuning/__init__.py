"""Tuning: settings of this machine that could make a command faster, tried one at a time."""
