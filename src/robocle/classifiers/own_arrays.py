"""Objects that modify their arrays in place, also after they were pickled or copied."""

from typing import Any

import numpy as np


class OwnArrays:
    """Its arrays can be written to, whatever it was restored from.

    joblib maps large arrays read-only from a file. BLAS writes to a read-only array, too, and ends
    the process if its memory is protected.
    """

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore what was pickled or copied. Read-only arrays are copied."""
        for name, value in state.items():
            protected = isinstance(value, np.ndarray) and not value.flags.writeable
            self.__dict__[name] = np.array(value) if protected else value
