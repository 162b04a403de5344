"""A recording: a directory with a manifest and one folder of Parquet files per table."""

from iowhy.recordings.manifest import Manifest
from iowhy.recordings.recording import Recording, open_recording

__all__ = ["Manifest", "Recording", "open_recording"]
