"""Where a recording comes from: the recorder here, or text that other tools printed."""
