"""The version of iowhy; pyproject.toml and Cargo.toml have the same (RELEASING.md)."""

VERSION = "0.2.0"
