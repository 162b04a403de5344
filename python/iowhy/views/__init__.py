"""How results are shown: on a terminal, or as JSON."""
