"""`python -m recnmp` is the command `recnmp`."""

import sys

from .cli import main

sys.exit(main())
