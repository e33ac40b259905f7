"""Named faults of the circuits: each a patch that the checks must find."""
