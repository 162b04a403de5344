"""`python -m iowhy` is the command iowhy."""

import sys

try:
    from iowhy.cli.main import main
except KeyboardInterrupt:
    # Ctrl-C while Python still reads the modules, as in the script `iowhy`: nothing has begun.
    sys.exit(130)

main()
