"""The options of commands, each described once: flags, help, unit and checks next to the field.

`parser.py` makes a parser of such a dataclass, `keywords.py` takes the same options as arguments of a Python function.
"""
