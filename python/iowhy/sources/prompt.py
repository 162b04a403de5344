"""The command line that was typed at a prompt."""

import re
import shlex

# "user@host:~$ ", "[user@host dir]# ", "$ ", "host% " and the like.
_PROMPT = re.compile(
    r"\s{0,3}(?P<who>\[[^\]\s]+[@:\s][^\]]{0,80}\]|[\w.+-]{1,40}@[\w.-]{1,80}(?:[: ][^$#%>❯]{0,120}?)?|"
    r"[\w.-]{1,40}:[~/][^$#%>❯]{0,120}?)?\s?(?P<sign>[$#%>❯])\s?(?P<line>\S.*)"
)
_SIGN = re.compile("[$#%>❯]")
#: Words before the tool's own.
BEFORE_COMMAND = {"sudo", "doas", "time", "nice", "env", "exec", "nohup", "stdbuf", "timeout"}


def typed(line: str, tools: set[str]) -> tuple[str, ...] | None:
    """The command line behind a prompt, without sudo and the like; None when it is not a prompt."""
    if len(line) > 2000 or _SIGN.search(line) is None:
        return None
    match = _PROMPT.fullmatch(line)
    if match is None:
        return None
    try:
        words = shlex.split(match["line"])
    except ValueError:
        words = match["line"].split()
    words = _bare(words)
    if not words:
        return None
    # A bare sign may begin a table too ("% time  seconds" of strace -c, "# CPU" of perf): only
    # a tool's name behind it makes a prompt.
    known = words[0] in tools and words[0] not in BEFORE_COMMAND
    certain = match["who"] is not None or match["sign"] in "$❯"
    if known or (certain and re.match(r"[\w./~-]+$", words[0])):
        return tuple(words)
    return None


def _bare(words: list[str]) -> list[str]:
    """Without assignments, sudo and paths: `LC_ALL=C sudo /usr/bin/iostat 1` is `iostat 1`."""
    at = 0
    while at < len(words) and (
        words[at] in BEFORE_COMMAND
        or re.fullmatch(r"\w+=\S*", words[at])
        or (at > 0 and words[at].startswith("-") and words[at - 1] in BEFORE_COMMAND)
    ):
        at += 1
    rest = words[at:]
    if "|" in rest:
        rest = rest[: rest.index("|")]
    if rest:
        rest = [rest[0].rsplit("/", 1)[-1], *rest[1:]]
        rest[0] = re.sub(r"-bpfcc$|^bpfcc-", "", rest[0])
    return rest
