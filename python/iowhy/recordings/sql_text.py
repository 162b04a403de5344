"""Texts of a recording, a user or a program's file as literals of SQL."""


def text_literal(text: str) -> str:
    """The literal that means `text`, in DuckDB and in Spark: a quote in it is written twice."""
    return "'" + text.replace("'", "''") + "'"
