"""A hundred thousand four-bars, each with its own lengths: which of them turns with the least torque?

Run it with:    python examples/four_bar_designs.py [folder]
It writes as it goes; stopped and called again with the same folder it goes on where it was.
"""

import sys

import numpy as np

import kinetree as kt

FOUR_BAR = kt.load("four-bar")
ONE_TURN = kt.gallery.motion("four-bar")
DRIVE = ONE_TURN(ONE_TURN.grid(61))  # the crank, at 45 rpm
START = kt.gallery.start("four-bar")

LENGTHS = {"crank": kt.Uniform(0.02, 0.06), "coupler": kt.Uniform(0.08, 0.16), "rocker": kt.Uniform(0.08, 0.16)}


def torque(p):
    """Bars as heavy as their length: 40 kg a meter, their centers in the middle."""
    bodies = {}
    for name in ("crank", "coupler", "rocker"):
        length, none = p[name], np.zeros_like(p[name])
        mass, turn = 40.0 * length, 40.0 * length**3 / 12.0
        com, inertia = np.stack([length / 2, none, none], axis=-1), np.stack([1e-5 + none, turn, turn], axis=-1)
        bodies[name] = {"mass": mass, "com": com, "inertia": inertia}
    along = {name: np.stack([p[name], 0 * p[name], 0 * p[name]], axis=-1) for name in LENGTHS}
    dimensions = {
        "bodies": bodies,
        "joints": {"coupler_joint": {"position": along["rocker"]}},
        "loops": {"crank_pin": {"position": along["crank"], "seat": along["coupler"]}},
    }
    moved = FOUR_BAR.driven_motion(*DRIVE, dimensions, q_guess=START)
    swing = np.ptp(moved.q[..., 1], axis=-1)
    why = np.where(moved.closed, None, "the crank cannot turn")
    return {"torque": np.abs(moved.tau[..., 0]).max(axis=-1), "swing": swing, "failure": why}


def main(folder=None, samples=100_000, **options):
    """Sweep, and show the best."""
    found = kt.sweep(torque, LENGTHS, folder, design="latin-hypercube", samples=samples, **options)
    best = found.best("torque", 3)
    print(f"{found.rows:,} designs in {found.seconds:.1f} s, {found.count('torque'):,} of them turn")
    print(f"torque: median {found.quantile('torque', 0.5):.3f} N m, best {best['torque'][0]:.3f} N m")
    for k in range(3):
        print("  " + ", ".join(f"{name} {1000 * best[name][k]:.1f} mm" for name in LENGTHS))
    return found


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)
