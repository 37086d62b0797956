"""Numbers of rows that classes are padded to, so that those with similar numbers go together."""

# With at most this many columns, fewer groups take less time than fewer rows of zeros.
FEW_COLUMNS = 64


def padded_rows(rows: int, columns: int) -> int:
    """Return the next of 0, 2, 4, 6, 8, 12, 16, 24 and so on; with few columns, of 8, 16, 32...

    Args:
        rows: The number of rows of a class.
        columns: The number of columns of their products.

    >>> [padded_rows(rows, 100) for rows in (0, 1, 3, 5, 6, 7, 9, 13)]
    [0, 2, 4, 6, 6, 8, 12, 16]
    >>> [padded_rows(rows, 10) for rows in (0, 1, 3, 5, 6, 7, 9, 13)]
    [8, 8, 8, 8, 8, 8, 16, 16]
    """
    few = columns <= FEW_COLUMNS
    if rows <= 2 and not few:
        return 2 if rows else 0
    power = 8 if few else 4
    while power < rows:
        if rows <= power * 3 // 2 and not few:
            return power * 3 // 2
        power *= 2
    return power
