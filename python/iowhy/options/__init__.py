"""The options of commands, each described once: flags, help, unit and checks beside the field.

The command line is made from these dataclasses (`iowhy.cli._parse`, `iowhy.views.help_page`); nothing here knows of it.
"""
