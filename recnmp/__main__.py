"""`python -m recnmp` is the command `recnmp`, and both begin here."""

import sys


def start() -> int:
    """Run the command line; a Ctrl-C that comes while it is being imported is as quiet as a later one."""
    try:
        from .cli import main

        return main()
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(start())
