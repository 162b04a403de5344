"""The checks: a file each, with `CHECK`."""
