"""Real programs in trouble, and with the remedy: each case is a file next to this one."""
