"""What would help: predictions for changes of a recorded run."""

from collections.abc import Sequence

from iowhy.model.device_kind import device_of
from iowhy.model.predictions import WhatIf
from iowhy.model.predictions import what_if as predict
from iowhy.recordings import Recording


def what_if(recording: Recording, devices: Sequence[str] = ()) -> WhatIf:
    """Predictions for the usual changes; `devices` are names and files of device models. Raises Problem."""
    return predict(recording, tuple(map(device_of, devices)))
