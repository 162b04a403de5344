"""What the machine is called."""

import os
import socket

VARIABLE = "IOWHY_HOST"
"""Names it if this process is called otherwise: in a pod, for the recorder as well (readings/src/host.rs)."""


def name() -> str:
    """As recordings have it."""
    return os.environ.get(VARIABLE) or socket.gethostname()
