"""Linear systems, solved by LAPACK for many right-hand sides given as rows."""

import numpy as np

from robocle.blas import blas, lapack
from robocle.classifiers.state import Matrix
from robocle.errors import FeatureError


def solve_positive(matrix: Matrix, rows: Matrix) -> Matrix:
    """Solve matrix x = row for each row. The matrix is positive definite and is overwritten."""
    if not matrix.size:
        return rows
    _, solution, failed = lapack.dposv(matrix, rows.T, lower=1, overwrite_a=1)
    require_solved(failed)
    return np.asarray(solution).T


def solve_general(matrix: Matrix, rows: Matrix) -> Matrix:
    """Solve matrix x = row for each row, for any regular matrix."""
    if not matrix.size:
        return rows
    _, _, solution, failed = lapack.dgesv(matrix, rows.T)
    require_solved(failed)
    return np.asarray(solution).T


def cholesky(matrix: Matrix, ridge: float = 0.0) -> Matrix:
    """Return the lower Cholesky factor of matrix + ridge I.

    Only the lower triangle of the matrix is read. The matrix is overwritten.
    """
    if not matrix.size:
        return matrix
    matrix[np.diag_indices(len(matrix))] += ridge
    factor, failed = lapack.dpotrf(matrix, lower=1, overwrite_a=1)
    require_solved(failed)
    return np.asarray(factor)


def solve_triangular(factor: Matrix, rows: Matrix, transposed: int = 0) -> Matrix:
    """Return L^-1 row for each row, or L^-T row if transposed, for a lower triangular factor L."""
    if not factor.size:
        return rows
    solution: Matrix = blas.dtrsm(1.0, factor, rows.T, lower=1, trans_a=transposed)
    return solution.T


def inverse_root(matrix: Matrix, share: float, least: float) -> Matrix:
    """Return a matrix T with T^T T = share (I - share matrix)^-1.

    Args:
        matrix: A symmetric matrix.
        share: A weight with which the eigenvalues of share * matrix are below 1.
        least: Eigenvalues of I - share * matrix that are smaller count as this.
    """
    if not matrix.size:
        return matrix
    rest = np.eye(len(matrix)) - share * matrix
    factor, failed = lapack.dpotrf(rest, lower=1)
    if not failed and np.diagonal(factor).min() ** 2 > least:
        root: Matrix = blas.dtrsm(np.sqrt(share), factor, np.eye(len(matrix)), lower=1)
        return root
    values, vectors = np.linalg.eigh(rest)
    root = np.sqrt(share / np.maximum(values, least))[:, None] * vectors.T
    return root


def require_solved(failed: int) -> None:
    """Raise FeatureError if LAPACK reports that a matrix is singular."""
    if failed:
        raise FeatureError("the covariance is singular: increase the classifier's shrinkage")
