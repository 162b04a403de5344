"""No secret of a well-known shape is left in a command or in a text that holds one; what is none stays."""

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iowhy.invocation import joined
from iowhy.masking import masked, masked_json, masked_words

#: § is the secret, in words of a command; ¤ one that stands in an address or among others.
COMMANDS = [
    ("tool", "--password=§"),
    ("tool", "--password", "§"),
    ("tool", "-password", "§"),
    ("tool", "--db-password=§", "x"),
    ("tool", "--token", "§", "--verbose"),
    ("tool", "--github-token=§"),
    ("tool", "--api-key", "§"),
    ("tool", "--apikey=§"),
    ("tool", "--client-secret", "§"),
    ("tool", "--secret-access-key=§"),
    ("env", "PGPASSWORD=§", "psql"),
    ("env", "MYSQL_PWD=§", "mysql"),
    ("env", "DB_PASS=§", "make"),
    ("env", "AWS_SECRET_ACCESS_KEY=§", "aws"),
    ("java", "-Dspring.datasource.password=§", "Main"),
    ("java", "-Djavax.net.ssl.keyStorePassword=§"),
    ("mysql", "-uroot", "-p§", "shop"),
    ("nice", "/usr/bin/mysqldump", "-p§", "shop"),
    ("sshpass", "-p", "§", "ssh", "db"),
    ("sshpass", "-p§", "ssh", "db"),
    ("redis-cli", "-a", "§", "ping"),
    ("mongodump", "-u", "a", "-p", "§"),
    ("ldapsearch", "-w", "§"),
    ("curl", "-u", "alice:§", "https://h/x"),
    ("curl", "-H", "Authorization: Bearer §"),
    ("curl", "-H", "X-Api-Key: §"),
    ("curl", "--user", "alice:§"),
    ("psql", "postgresql://alice:¤@db/shop"),
    ("git", "clone", "https://oauth:¤@git.example.com/a.git"),
    ("curl", "https://h/x?token=¤&page=2"),
    ("psql", "host=db password=¤ user=a"),
    ("openssl", "enc", "-passin", "pass:¤"),
]  # fmt: skip
SECRETS = st.text(
    st.characters(codec="utf-8", exclude_characters="\0*", exclude_categories=["Cs"]), min_size=4, max_size=30
).filter(lambda one: one.strip() == one and not one.startswith("-"))  # fmt: skip
PLAIN = st.text("abcdefghkmnrxyzABCXYZ0123456789!$.,_~+-", min_size=4, max_size=30).map("Z".__add__)


def filled(command: tuple[str, ...], secret: str, plain: str) -> list[str]:
    return [word.replace("§", secret).replace("¤", plain) for word in command]


def holds(text: str, secret: str, command: tuple[str, ...]) -> bool:
    return secret in text and not any(secret in word for word in command)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@given(secret=SECRETS, plain=PLAIN)
def test_no_secret_is_left_in_a_command(command: tuple[str, ...], secret: str, plain: str) -> None:
    words = filled(command, secret, plain)
    found = masked_words(words)
    assert len(found) == len(words) and found != tuple(words)
    for one in (secret, plain):
        assert not holds("\0".join(found), one, command), found
    assert masked_words(found) == found
    assert masked_json({"command": {"argv": words}}) == {"command": {"argv": list(found)}}


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@given(
    secret=st.text("abcxyzABC012 '$!.,/+", min_size=4, max_size=20).filter(
        lambda s: s.strip() == s
    ),
    plain=PLAIN,
)
def test_nor_in_a_text_in_which_one_is_typed(
    command: tuple[str, ...], secret: str, plain: str
) -> None:
    words = filled(command, secret, plain)
    for text in (shlex.join(words), joined(words), f"run `{joined(words)}` again"):
        found = masked(text)
        for one in (secret, plain, secret.strip("'")):
            assert len(one) < 4 or not holds(found, one, command), (text, found)
        assert masked(found) == found


@pytest.mark.parametrize(
    "text",
    ["https://git.example.com/AKIAABCDEFGHIJKLMNOP", "x ghp_abcdefghijklmnopqrstuvwxyz0123456789 y",
     "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc_DEF-1", "sk-abcdefghijklmnop0123"],
)  # fmt: skip
def test_keys_are_known_by_their_beginning(text: str) -> None:
    assert "***" in masked(text) and masked_words(["x", text])[1] == masked(text)


@pytest.mark.parametrize(
    "words",
    [["make", "-j2", "-p"], ["tool", "--password-file=/etc/x", "--no-password", "db"], ["env", "PWD=/home/a", "OLDPWD=/", "x"],
     ["docker", "run", "-p", "8080:80", "web"], ["psql", "-p", "5432", "postgresql://db:5432/shop"], ["mysql", "-p", "shop"],
     ["sort", "--key=2", "-u", "a:b"], ["train", "--max-tokens", "100", "--passes=3"], ["ssh", "alice@db", "ls"],
     ["curl", "http://127.0.0.1:8080/a"], ["fio", "--name=password", "a.fio"], ["mkdir", "-p", "/tmp/secret/token"]],
    ids=" ".join,
)  # fmt: skip
def test_what_is_no_secret_stays(words: list[str]) -> None:
    assert masked_words(words) == tuple(words)
    assert masked(joined(words)) == joined(words)


def test_sentences_stay() -> None:
    for text in (
        "sqlite3 spent 69 % of its time (0.97 of 1.40 s) in fdatasync.",
        "each key is looked up; one pass of writeback, 3 tokens",
        "SQLite: one transaction (https://www.sqlite.org/faq.html#q19)",
    ):
        assert masked(text) == text
