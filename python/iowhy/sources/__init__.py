"""Where recordings come from: this machine, live, or what other tools printed."""
