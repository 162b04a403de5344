"""Experiments: one resource at a time is squeezed or relieved, and the command's answer is measured."""

from iowhy.callable_package import make_callable

make_callable(__name__)
