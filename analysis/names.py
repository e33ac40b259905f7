"""Names of files in titles: they may hold any bytes, and fonts and terminals take only letters."""


def printable(name: str) -> str:
    """The name with `?` for what cannot be shown."""
    return "".join(character if character.isprintable() else "?" for character in name)
