"""Boots kernels that distributions ship and holds what the recorder finds in each against known counts.

`make test-kernels` runs it; needs Debian's package sources and is no part of `make test`.
"""
