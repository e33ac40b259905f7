"""What a user did wrong, said in one line; the command line turns it into exit code 2."""


class RecnmpError(Exception):
    """Bad input or an impossible request: names file, place, value and allowed range, in one line."""
