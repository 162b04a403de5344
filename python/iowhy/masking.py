"""Secrets in command lines, by their well-known shapes: masked in all that is made to be passed on.

Options and variables whose name says that they are one (`--password X`, `DB_PASSWORD=X`), short options of programs that are
known for it (`mysql -pX`), addresses (`user:password@host`), headers, and keys that are recognised by their beginning.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from pathlib import PurePath
from typing import Any

MASK = "***"

_NAME = (
    r"(?:[\w.-]*(?:password|passwd|passphrase|secret|token|credentials?|(?:api|access|private|secret|auth|account)[-_]?key(?:[-_]?id)?)"
    r"|(?:[\w.-]*[-_.])?pass|[\w.-]*[-_.]pwd)"
)
_HEADER = r"(?:proxy-)?authorization|(?:set-)?cookie"
#: As a shell takes it: parts in quotes and without.
_VALUE = r"""(?:\$'(?:\\.|[^'\\])*'|'[^']*'|"(?:\\.|[^"\\])*"|\\.|[^\s'"`&;|\\])+"""
#: The beginnings of keys: AWS, GitHub, GitLab, Slack, Stripe and OpenAI, JSON Web Tokens.
_KEYS = (
    r"\b(?:A[KS]IA[0-9A-Z]{16}|gh[pousr]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|xox[abprs]-[\w-]{10,}|sk[-_][\w-]{16,}"
    r"|eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*)"
)

_HINT = re.compile(
    rf"pass|pwd|secret|token|credential|key|authorization|cookie|://|{_KEYS}", re.IGNORECASE
)
_OPTION = re.compile(rf"(?!--?no-)--?{_NAME}", re.IGNORECASE)
_GIVEN = re.compile(
    rf"((?:-D|--?)?{_NAME}\s*[=:]\s*|-?H?\s*(?:{_HEADER})\s*[=:]\s*).+", re.I | re.S
)
#: What is done in a text: each pattern, and what stays of what it finds.
_IN_TEXT: tuple[tuple[re.Pattern[str], str], ...] = (
    (
        re.compile(
            rf"""(\$?)(['"])((?:-D|--?)?{_NAME}\s*[=:]\s*)(?:\\.|(?!\2)[^\\])*\2(?:{_VALUE})?""", re.I | re.S
        ),
        rf"\1\2\3{MASK}\2",
    ),
    (re.compile(rf"""((?:{_HEADER})["']?\s*[=:]\s*["']?)[^'"\n`]+(?:(['"])(?:{_VALUE})?)?""", re.IGNORECASE), rf"\1{MASK}\2"),
    (re.compile(rf"""((?<![\w.-])(?:-D|--?)?{_NAME}["']?\s*=\s?)(?:{_VALUE})""", re.IGNORECASE), rf"\1{MASK}"),
    (re.compile(rf"""((?<![\w.-]){_NAME}["']?\s*:\s*)(?!//)(?:{_VALUE})""", re.IGNORECASE), rf"\1{MASK}"),
    (re.compile(rf"((?<![\w.-])(?!--?no-)--?{_NAME}\s+)(?!-)(?:{_VALUE})", re.IGNORECASE), rf"\1{MASK}"),
    (re.compile(r"""(://[^\s:/@'"]*:)[^\s'"`]+(?=@)"""), rf"\1{MASK}"),
    (re.compile(r"""(://)[^\s:/@'"`]{16,}(?=@)"""), rf"\1{MASK}"),
    (re.compile(_KEYS), MASK),
)  # fmt: skip

_WORD = re.compile(r"""(?:[^\s'"`]|'[^']*'|"(?:\\.|[^"\\])*")+""")
_LDAP = "ldapsearch ldapadd ldapmodify ldapdelete ldappasswd ldapwhoami"
_MONGO = "mongo mongosh mongodump mongorestore mongoimport mongoexport mongostat mongotop"
#: Programs with an option whose next word is a secret.
_NEXT = {
    **dict.fromkeys([*_MONGO.split(), "sshpass"], ("-p",)),
    **dict.fromkeys(_LDAP.split(), ("-w", "-y")),
    "redis-cli": ("-a",),
    "sqlcmd": ("-P",),
    "bcp": ("-P",),
}
#: With one that is followed by it at once.
_AT_ONCE = re.compile(
    r"mysql\w*|maria(?:db|backup)[\w-]*|mydumper|myloader|xtrabackup|mycli|sshpass|7z[ar]?"
)
#: With one whose next word is USER:PASSWORD, or USER%PASSWORD.
_PAIRS = {
    **dict.fromkeys(["curl", "http", "https", "xh"], ("-u", "-U", "-a", "--user", "--proxy-user", "--auth")),
    **dict.fromkeys(["smbclient", "rpcclient", "net"], ("-U", "--user")),
}  # fmt: skip
_PAIR = re.compile(r"([^:%]*[:%]).+", re.S)


def masked_words(words: Sequence[str]) -> tuple[str, ...]:
    """The words of a command without the secrets among them; as many words."""
    return tuple(_masked(list(words), _whole))


def masked(text: str) -> str:
    """The same of a text that may hold commands, addresses and headers."""
    if _AT_ONCE.search(text) or any(name in text for name in (*_NEXT, *_PAIRS)):
        words = iter(_masked([found[0] for found in _WORD.finditer(text)], lambda word: word))
        text = _WORD.sub(lambda _: next(words), text)
    if _HINT.search(text):
        for pattern, stays in _IN_TEXT:
            text = pattern.sub(stays, text)
    return text


def masked_json(value: Any) -> Any:
    """The same of what JSON holds: a list of texts is the words of a command."""
    if isinstance(value, str):
        return masked(value)
    if isinstance(value, dict):
        return {key: masked_json(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        if value and all(isinstance(one, str) for one in value):
            return list(masked_words(value))
        return [masked_json(one) for one in value]
    return value


def unmasked(text: str) -> str:
    """With --keep-secrets: as it is."""
    return text


def _whole(word: str) -> str:
    """A single word of a command; where it begins with a name, all that follows is the secret."""
    found = _GIVEN.fullmatch(word)
    return found[1] + MASK if found else masked(word)


def _masked(words: list[str], each: Callable[[str], str]) -> Iterator[str]:
    """Each word, by the one before it and by the program that it is given to."""
    program, before = "", ""
    for at, word in zip(count(), words, strict=False):
        bare = word.strip("'\"`")
        name = PurePath(bare).name
        if _is_secret(before, bare, program) and not (
            bare.startswith("-") and program not in _NEXT
        ):
            made = MASK
        elif before in _PAIRS.get(program, ()) and (pair := _PAIR.fullmatch(bare)):
            made = pair[1] + MASK
        elif len(bare) > 2 and bare[:2] in _short(program):
            made = bare[:2] + MASK
        else:
            made = each(word)
        yield made
        before = bare
        if at == 0 or name in _NEXT or name in _PAIRS or _AT_ONCE.fullmatch(name):
            program = name


def _short(program: str) -> tuple[str, ...]:
    """Options of one letter that a secret may follow at once."""
    at_once = ("-p",) if _AT_ONCE.fullmatch(program) else ()
    return (
        *at_once,
        *(one for one in (*_NEXT.get(program, ()), *_PAIRS.get(program, ())) if len(one) == 2),
    )


def _is_secret(before: str, word: str, program: str) -> bool:
    if before in _NEXT.get(program, ()):
        return True
    return bool(word) and _OPTION.fullmatch(before) is not None
