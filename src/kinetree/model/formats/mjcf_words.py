"""Poses and numbers as attributes of MJCF."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ..pose import Pose


def pose_words(pose: Pose) -> str:
    """Return a pose as attributes, nothing if it is the identity."""
    words = f" pos={numbers(pose.translation)}" if any(pose.translation) else ""
    turned = np.any(pose.rotation != np.eye(3))
    return words + (f" quat={numbers(wxyz(pose.rotation))}" if turned else "")


def wxyz(rotation: np.ndarray) -> np.ndarray:
    """Return the quaternion of a rotation, from its largest entry, so that nothing is lost to rounding."""
    r = rotation
    four = np.array([np.trace(r), r[0, 0], r[1, 1], r[2, 2]])
    k = int(np.argmax(four))
    if k == 0:
        found = np.array([1.0 + four[0], r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1]])
    else:
        i = k - 1
        j, m = (i + 1) % 3, (i + 2) % 3
        found = np.empty(4)
        found[0] = r[m, j] - r[j, m]
        found[1 + i] = 1.0 + r[i, i] - r[j, j] - r[m, m]
        found[1 + j], found[1 + m] = r[j, i] + r[i, j], r[m, i] + r[i, m]
    return np.asarray(found / np.linalg.norm(found))


def numbers(values: Iterable[float]) -> str:
    """Return numbers as the value of an attribute, in quotation marks."""
    return '"' + " ".join(repr(float(x)) for x in values) + '"'
