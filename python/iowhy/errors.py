"""The one exception that reaches the terminal as a message instead of a traceback."""


class Problem(Exception):
    """Something the user can act on.

    The message names the file, line or option that is wrong and the way out; the command line prints
    it on stderr and exits with status 2.
    """
