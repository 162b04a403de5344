"""Errors that reach the terminal as a message instead of a traceback: errors.toml has the sentence of each, by its id."""

from functools import cache

from iowhy.package_files import package_folder
from iowhy.sentences import Sentence, as_given


@cache
def templates() -> dict[str, str]:
    """The sentence of each error, with places for its values."""
    import tomllib  # slow, and only needed if something is wrong

    return tomllib.loads((package_folder("iowhy") / "errors.toml").read_text("utf-8"))


class Worded(Exception):
    """What is wrong, by its id in errors.toml and the values of its places; or a sentence of one, passed on."""

    def __init__(self, said: str, /, **values: object) -> None:
        if not isinstance(said, Sentence):
            said = as_given(said, templates()[said], **values)
        super().__init__(said)

    @property
    def sentence(self) -> Sentence:
        """With its `id` and `values`."""
        return self.args[0]  # type: ignore[no-any-return]


class Problem(Worded):
    """Something the user can act on.

    The message names the file, line or option that is wrong and the way out; the command line prints
    it on stderr and exits with status 2.
    """
