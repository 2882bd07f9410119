"""`python -m nearfar.cli`, and the console script `nearfar`."""

import sys

from nearfar.cli.entry import main

if __name__ == "__main__":
    sys.exit(main())
