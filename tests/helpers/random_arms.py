"""Trees of hinges and slides whose axes are often parallel, square, upright or on one line: where the rules differ."""

from __future__ import annotations

import numpy as np

import kinetree as kt


def random_arm(seed: int) -> kt.Robot:
    """A tree of up to six joints of the kinds that Khalil covers."""
    rng = np.random.default_rng(seed)
    gravity = (0.0, 0.0, -9.81) if rng.random() < 0.7 else tuple(rng.standard_normal(3))
    builder = kt.Builder(f"arm {seed}", gravity=gravity)
    names = ["base"]
    for k in range(int(rng.integers(1, 7))):
        parent = names[-1] if rng.random() < 0.7 else names[int(rng.integers(len(names)))]
        axis = "xyzzz"[int(rng.integers(5))] if rng.random() < 0.8 else tuple(rng.standard_normal(3))
        kind = (kt.Revolute if rng.random() < 0.6 else kt.Prismatic)(axis)
        turned = rng.random()
        rpy = (
            (0, 0, 0) if turned < 0.5 else np.pi / 2 * rng.integers(-1, 3, 3) if turned < 0.8 else rng.uniform(-3, 3, 3)
        )
        place = rng.uniform(-1, 1, 3) * (rng.random(3) < 0.6) * (rng.random() < 0.7)
        builder.body(f"b{k}", parent, kind, position=tuple(place), rpy=tuple(rpy), **body(rng))
        names.append(f"b{k}")
    return builder.build()


def body(rng: np.random.Generator) -> dict[str, object]:
    """Mass properties of some body."""
    return {
        "mass": float(rng.uniform(1, 2)),
        "com": tuple(rng.uniform(-0.3, 0.3, 3)),
        "inertia": np.diag(rng.uniform(0.5, 1, 3)),
    }
