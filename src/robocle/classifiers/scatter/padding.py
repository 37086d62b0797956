"""Numbers of rows that classes are padded to, so that those with similar numbers go together."""


def padded_rows(rows: int) -> int:
    """Return the next of 0, 2, 4, 6, 8, 12, 16, 24 and so on.

    >>> [padded_rows(rows) for rows in (0, 1, 3, 5, 6, 7, 9, 13)]
    [0, 2, 4, 6, 6, 8, 12, 16]
    """
    if rows <= 2:
        return 2 if rows else 0
    power = 4
    while power < rows:
        if rows <= power * 3 // 2:
            return power * 3 // 2
        power *= 2
    return power
