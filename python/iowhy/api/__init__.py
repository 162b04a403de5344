"""The Python API: what `import iowhy` offers. See docs/api.md."""

from iowhy.api.answers import Answer, Opened, Rows
from iowhy.api.functions import compare, experiment, open, record, recording
from iowhy.api.magic import load_ipython_extension

__all__ = [
    "Answer",
    "Opened",
    "Rows",
    "compare",
    "experiment",
    "load_ipython_extension",
    "open",
    "record",
    "recording",
]
