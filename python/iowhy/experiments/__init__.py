"""Experiments: one resource at a time is squeezed or relieved, and the command's answer is measured."""
