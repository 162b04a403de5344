"""iowhy tells why I/O is slow on Linux, with a measured number at each why."""

__version__ = "0.1.0"
