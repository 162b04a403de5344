"""Many recordings at once: every report over all of them, and reports of what only many can show."""
