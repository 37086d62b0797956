"""Small linear systems, solved by LAPACK for many right-hand sides given as rows."""

import numpy as np
from scipy.linalg import blas, lapack

from robocle.classifiers.state import Matrix
from robocle.errors import FeatureError


def solve_positive(matrix: Matrix, rows: Matrix) -> Matrix:
    """Return rows x with matrix x = row, for a positive definite matrix, which is overwritten."""
    if not matrix.size:
        return rows
    _, solution, failed = lapack.dposv(matrix, rows.T, lower=1, overwrite_a=1)
    require_solved(failed)
    return np.asarray(solution).T


def solve_general(matrix: Matrix, rows: Matrix) -> Matrix:
    """Return rows x with matrix x = row."""
    if not matrix.size:
        return rows
    _, _, solution, failed = lapack.dgesv(matrix, rows.T)
    require_solved(failed)
    return np.asarray(solution).T


def cholesky(matrix: Matrix, ridge: float = 0.0) -> Matrix:
    """Return the lower factor of matrix + ridge I, by its lower triangle, which is overwritten."""
    if not matrix.size:
        return matrix
    matrix[np.diag_indices(len(matrix))] += ridge
    factor, failed = lapack.dpotrf(matrix, lower=1, overwrite_a=1)
    require_solved(failed)
    return np.asarray(factor)


def solve_triangular(factor: Matrix, rows: Matrix, transposed: int = 0) -> Matrix:
    """Return L^-1 row for each row, or L^-T row, of a lower factor L."""
    if not factor.size:
        return rows
    solution: Matrix = blas.dtrsm(1.0, factor, rows.T, lower=1, trans_a=transposed)
    return solution.T


def require_solved(failed: int) -> None:
    """Raise FeatureError if LAPACK reports that a matrix is singular."""
    if failed:
        raise FeatureError("the covariance cannot be solved: raise the classifier's shrinkage")
