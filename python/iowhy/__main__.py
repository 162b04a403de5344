"""`python -m iowhy`."""

from iowhy.cli.main import main

main()
