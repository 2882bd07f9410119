"""`python -m nearfar`."""

import sys

from nearfar.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
