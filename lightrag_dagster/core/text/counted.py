"""Numbers and times in words."""


def counted(number: int, one: str, several: str) -> str:
    """Return a number with the words that follow one, or any other number."""
    return f"{number:,} {one if number == 1 else several}"


def lasting(seconds: float) -> str:
    """Return a time in whole minutes, hours or days, the longest of which there are two."""
    for unit, length in (("day", 86_400), ("hour", 3600)):
        if seconds >= 2 * length:
            return counted(int(seconds // length), unit, f"{unit}s")
    return counted(max(1, int(seconds // 60)), "minute", "minutes")
