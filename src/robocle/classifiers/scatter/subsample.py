"""Which rows of the classes a subsample has, when there are too many to keep all of them."""

# The number of rows in a subsample, and the minimum number per class. With more classes than
# SUBSAMPLED_CLASSES, only that many of them have rows.
SUBSAMPLE, SUBSAMPLE_PER_CLASS, SUBSAMPLED_CLASSES = 256, 4, 512


def most_rows(number: int, classes: int, subsample: int) -> int:
    """Return how many rows of a class a subsample has, at most.

    Args:
        number: The class.
        classes: The number of classes.
        subsample: The number of rows of all classes together, unless that is too few per class.
    """
    if not subsample:
        return 0
    if classes <= SUBSAMPLED_CLASSES:
        return max(SUBSAMPLE_PER_CLASS, subsample // classes)
    chosen = golden_place(number) * classes < SUBSAMPLED_CLASSES
    return SUBSAMPLE_PER_CLASS if chosen else 0


def golden_place(number: int) -> float:
    """Return a place between 0 and 1. Those of the first numbers are evenly spaced, however many.

    They are the multiples of the golden ratio, modulo 1.

    >>> [round(golden_place(number), 2) for number in range(5)]
    [0.0, 0.62, 0.24, 0.85, 0.47]
    """
    return number * 2654435769 % 2**32 / 2**32
