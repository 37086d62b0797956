"""Updates of a ridge solution for new samples and a changing ridge, without a new factorisation.

A Cholesky factor of B = S + r I is known and, for the class means M, the columns

    F0 = B^-1 M,   F1 = B^-1 F0,   F2 = B^-1 F1.

A sample adds a v v^T to S and moves one mean by a multiple of v. By the Sherman-Morrison formula,
B'^-1 = B^-1 - g u u^T with u = B^-1 v and g = a / (1 + a v.u), so each F changes by a sum of outer
products of B^-1 v, B^-2 v, B^-3 v. A ridge r + d leads to a power series in d:

    (B + d I)^-1 M = F0 - d F1 + d^2 F2 - ...

Truncated after three terms, its relative error is at most (d/r)^3.
"""

import numpy as np

from robocle.classifiers.scatter.symmetric_factor import SymmetricFactor
from robocle.classifiers.state import Matrix, Vector

ORDER = 3
MAX_DRIFT = 0.0095  # of the ridge, relative to it: the truncation error stays below 1e-6
MAX_UPDATES = 100  # samples, until a new factorisation is computed


class RidgeSolution:
    """(S + ridge)^-1 M, kept up to date while samples are added and the ridge drifts.

    Args:
        factor: The factor of B.
        means: The class means M, as rows.
        ridge: The ridge r: one number per block.
        fixed: Further rows of M that no sample moves, such as the world's mean.
    """

    def __init__(
        self, factor: SymmetricFactor, means: Matrix, ridge: Vector, fixed: Matrix | None = None
    ) -> None:
        self.factor = factor
        self.fixed = means[:0] if fixed is None else fixed
        self._ridge = ridge
        self._means = np.vstack([self.fixed, means])  # classes may be added after the last row
        self._powers = [factor.solve(self._means)]  # higher powers are computed at the first update
        self._updates: list[tuple[Vector, float]] = []

    def can_update_to(self, ridge: Vector) -> bool:
        """Return whether the solution for this ridge can be computed by updates."""
        # The power series is in a single variable, so ridges per block must not have changed.
        allowed = MAX_DRIFT if len(ridge) == 1 else 0.0
        drift = float(np.abs(ridge / self._ridge - 1).max())
        return drift <= allowed and len(self._updates) < MAX_UPDATES

    def weights(self, ridge: Vector) -> Matrix:
        """Return the solution for a ridge close to the original one.

        One row per class, and then one per fixed row.
        """
        drift = float(ridge[0] - self._ridge[0])
        if drift == 0:
            return self._fixed_last(self._powers[0])
        self._complete()
        series = sum((-drift) ** order * power for order, power in enumerate(self._powers))
        return self._fixed_last(series)  # type: ignore[arg-type]

    def _fixed_last(self, rows: Matrix) -> Matrix:
        return np.roll(rows, -len(self.fixed), axis=0) if len(self.fixed) else rows

    def is_exact_for(self, ridge: Vector) -> bool:
        """Return whether there was no update and the ridge is the original one."""
        return not self._updates and bool((ridge == self._ridge).all())

    def update(self, deviation: Vector, row: int, weight: float, step: float) -> None:
        """Add weight * v v^T to S and step * v to a class mean.

        Args:
            deviation: v.
            row: The class. The row after the last one adds a class.
            weight: The weight of v v^T.
            step: The step of the mean.
        """
        self._complete()
        row += len(self.fixed)
        if row == len(self._means):
            self._means = np.vstack([self._means, np.zeros_like(deviation)])
            self._powers = [np.vstack([p, np.zeros_like(deviation)]) for p in self._powers]
        chain = self._chain(deviation)
        gain = weight / (1 + weight * float(deviation @ chain[0]))
        self._means[row] += step * deviation
        coefficients = [-gain * (self._means @ chain[0])]
        coefficients[0][row] += step
        for order, power in enumerate(self._powers):
            if order:
                coefficients.insert(0, -gain * (self._powers[order - 1] @ chain[0]))
            for link, coefficient in zip(chain, coefficients, strict=False):
                power += np.outer(coefficient, link)
        self._updates.append((chain[0], gain))

    def _complete(self) -> None:
        while len(self._powers) < ORDER:
            self._powers.append(self._apply(self._powers[-1]))

    def _chain(self, deviation: Vector) -> list[Vector]:
        """Return B^-1 v, B^-2 v, B^-3 v."""
        links = [self._apply(deviation[None])]
        while len(links) < ORDER:
            links.append(self._apply(links[-1]))
        return [link[0] for link in links]

    def _apply(self, rows: Matrix) -> Matrix:
        """Return B^-1 row for each row: the factor's solution, corrected for every update."""
        solved = self.factor.solve(rows)
        if self._updates:
            directions = np.array([direction for direction, _ in self._updates])
            gains = np.array([gain for _, gain in self._updates])
            solved = solved - (rows @ directions.T * gains) @ directions
        return solved
