"""What holds a recorder: what is said by it, and that nobody else holds it."""

import os
import signal
import subprocess
import sys
import time

import pytest

from iowhy.sources.lifeline import VARIABLE, Recorder

READER = ["sh", "-c", f'cat "/dev/fd/${VARIABLE}"']


@pytest.mark.parametrize("outlives_us", [False, True])
def test_a_child_that_is_forked_does_not_hold_it(outlives_us: bool) -> None:
    with Recorder(READER, outlives_us=outlives_us, stdout=subprocess.PIPE) as reader:
        assert reader.stdout is not None
        child = os.fork()
        if child == 0:
            time.sleep(60)
            os._exit(0)
        try:
            reader.lifeline.end()
            reader.lifeline.let_go()
            assert reader.stdout.read() == (b"ke" if outlives_us else b"e")
            reader.wait()
        finally:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)


def test_it_is_none_of_the_standard_streams_where_these_are_closed() -> None:
    code = (
        "import os; from iowhy.sources.lifeline import Lifeline\n"
        "for stream in (0, 1, 2): os.close(stream)\n"
        "os._exit(Lifeline().reader)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False)
    assert done.returncode > 2
