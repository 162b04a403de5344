"""How property tests run: no deadlines (machines are busy), and the same examples always in CI."""

import os

from hypothesis import HealthCheck, settings

# Fixtures that hold for a whole property are directories and settings, the same for every example.
settings.register_profile(
    "developer",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
    print_blob=True,
)
# A new example is found by whoever works on the code, never by the machine that judges it.
settings.register_profile("judge", settings.get_profile("developer"), derandomize=True)
settings.load_profile("judge" if os.environ.get("CI") == "true" else "developer")
