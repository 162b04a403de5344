"""Every text of the product: literals and docstrings of Python, headers of SQL, TOML, strings of Rust and JavaScript, pages.

`make words` prints what a user sees of it (`catalogue`), `test_words.py` looks for words that iowhy does not use.
"""
