"""Adapters out: figures and reports, one a file."""

import logging

# Where the home folder cannot be written to, matplotlib says at length that it keeps its fonts elsewhere: a figure
# is the same for it, and standard error is for what went wrong.
logging.getLogger("matplotlib").setLevel(logging.ERROR)
