"""Rotations and vectors as arrays."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from kinetree.spatial.arrays import cross_matrix, leaves, quaternions_of


def test_cross_matrices_of_a_batch():
    a, b = np.random.default_rng(0).standard_normal((2, 4, 5, 3))
    np.testing.assert_allclose((cross_matrix(a) @ b[..., None])[..., 0], np.cross(a, b), rtol=1e-14, atol=1e-14)
    assert cross_matrix([1, 2, 3]).tolist() == [[0, -3, 2], [3, 0, -1], [-2, 1, 0]]


def test_quaternions_of_matrices_are_scipys():
    turns = Rotation.random(200, rng=0).as_quat()
    turns[:4] = np.eye(4)  # half turns, and none
    found = quaternions_of(Rotation.from_quat(turns).as_matrix().reshape(20, 10, 3, 3)).reshape(-1, 4)
    sign = np.sign(np.sum(found * turns, axis=-1, keepdims=True))
    np.testing.assert_allclose(sign * found, turns, atol=1e-15)


def test_a_matrix_with_nan_has_no_quaternion():
    for i in range(3):
        for j in range(3):
            matrices = np.stack([np.eye(3), np.eye(3)])
            matrices[1, i, j] = np.nan
            found = quaternions_of(matrices)
            assert found[0].tolist() == [0.0, 0.0, 0.0, 1.0]
            assert np.isnan(found[1]).all()


def test_leaves_come_in_order():
    assert list(leaves([[1, [2]], 3])) == [1, 2, 3]
