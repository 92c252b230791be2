"""Numbers in words."""


def counted(number: int, one: str, several: str) -> str:
    """Return a number with the words that follow one, or any other number."""
    return f"{number:,} {one if number == 1 else several}"
