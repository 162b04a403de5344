"""How tests run: property tests of few examples and without deadlines (machines are busy), in CI always with the same
examples; and signals as they are for a program that a person starts."""

import gc
import os
import signal
import tempfile

import pytest
from hypothesis import HealthCheck, settings

from iowhy.recordings import box, query_limits
from iowhy.views import progress
from tests.examples import EXAMPLES

# Fixtures that hold for a whole property are directories and settings, the same for every example.
settings.register_profile(
    "developer",
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
    print_blob=True,
)
# A new example is found by whoever works on the code, never by the machine that judges it.
settings.register_profile("judge", settings.get_profile("developer"), derandomize=True)
settings.load_profile("judge" if os.environ.get("CI") == "true" else "developer")


def pytest_configure(config: pytest.Config) -> None:
    """Marks of ours."""
    config.addinivalue_line("markers", "more: has more cases in `make torture`, by tests.examples")


def pytest_collection_finish() -> None:
    """Thousands of collected tests are not looked through for garbage again and again."""
    gc.collect()
    gc.freeze()


# A shell that starts the tests in the background has them, and all that they start, ignore Ctrl-C and Ctrl-\.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGQUIT) is signal.SIG_IGN:
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)

# A pipe is as wide as COLUMNS says, and who runs the tests may have set it (pytest-xdist does).
os.environ.pop("COLUMNS", None)

# What iowhy keeps for the next call is of a test's own, not of the user who runs the tests.
_CACHE = tempfile.TemporaryDirectory(prefix="iowhy-tests-cache-")
os.environ["XDG_CACHE_HOME"] = _CACHE.name

# On a slow machine what is under way is said after ten seconds; tests of what a command says are not about that.
progress.ELSEWHERE_AFTER_S = 3600.0

# Tests run beside each other, and their recordings are small: a query's own threads would only get in each other's way.
query_limits.MOST_THREADS = 1

# A command that a test calls within this process would take its rights away, for all tests that follow.
box.own = lambda: None
