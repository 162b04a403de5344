"""A recording: a directory with a manifest and one folder of Parquet files per table."""

from iowhy.callable_package import make_callable
from iowhy.recording.manifest import Manifest
from iowhy.recording.recording import Recording, open_recording

__all__ = ["Manifest", "Recording", "open_recording"]

make_callable(__name__)
