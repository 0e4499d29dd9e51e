"""Motions and measurements that tests make themselves."""

from __future__ import annotations

import numpy as np

import kinetree as kt


def fourier(joints, rng, duration=20.0, rate=100.0, base=0.1, harmonics=5, amplitude=0.8, center=0.0):
    """Return times, positions, velocities and accelerations of a random Fourier series."""
    t = np.arange(int(duration * rate)) / rate
    w = 2 * np.pi * base * np.arange(1, harmonics + 1)
    a, b = amplitude / np.sqrt(harmonics) * rng.standard_normal((2, harmonics, joints))
    sine, cosine = np.sin(np.outer(t, w)), np.cos(np.outer(t, w))
    q = center + sine @ a + cosine @ b
    v = cosine @ (w[:, None] * a) - sine @ (w[:, None] * b)
    acceleration = -sine @ (w[:, None] ** 2 * a) - cosine @ (w[:, None] ** 2 * b)
    return t, q, v, acceleration


def two_links(**properties):
    """Return an arm of two links in a vertical plane, with masses that can be told."""
    b = kt.Builder("two links")
    b.body("upper", "base", kt.Revolute("y"), mass=3.0, com=(0.2, 0, 0.02), inertia=(0.02, 0.05, 0.05), **properties)
    b.body("lower", "upper", kt.Revolute("y"), position=(0.5, 0, 0), mass=1.5, com=(0.2, 0, 0.01),
           inertia=(0.01, 0.03, 0.03), **properties)  # fmt: skip
    return b.build()
