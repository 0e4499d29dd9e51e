"""A delta robot goes around a circle as fast as its three motors can, with and without a product.

Run it with:    python examples/delta_cycle.py [points]
"""

import sys

import numpy as np

import kinetree as kt

PEAK, PRODUCT = 12.0, 0.3
"""The torque of each motor in N m, behind its gear, and the mass of the product in kg."""


class Circle(kt.trajectories.Trajectory):
    """The gallery's circle as a path: 19 coordinates, a quaternion among them, and 18 velocities."""

    along, n, nq, start, end = kt.gallery.motion("delta"), 18, 19, 0.0, 2.0

    def motion(self, t):
        """Positions, velocities and accelerations, by the chain rule."""
        q, v, a = self.along.states(t.value)
        first, second = np.asarray(t.first)[..., None], np.asarray(t.second)[..., None]
        return [list(np.moveaxis(x, -1, 0)) for x in (q, v * first, a * first**2 + v * second)]


def loaded(robot):
    """The robot with a product at its platform's center."""
    return robot.with_parameters({"platform.M": robot.parameters()["platform.M"] + PRODUCT})


def main(points=1001):
    robot = kt.load("delta").with_backend("compiled")
    circle = Circle()
    motors = [k for k, name in enumerate(robot.v_names) if name.startswith("shoulder")]
    limits = np.full(robot.nv, np.inf)
    limits[motors] = PEAK
    times, found = {}, {}
    for name, one in (("empty", robot), ("loaded", loaded(robot))):
        swift = found[name] = kt.trajectories.fastest(circle, one, torque=limits, points=points)
        times[name] = swift.duration
        q, v, a = swift.states(np.linspace(0.0, swift.end, 301)[1:-1])
        use = np.abs(one.inverse_dynamics(q, v, a, tolerance=1e-5))[:, motors] / PEAK
        gap = np.abs(one.closure_error(q)).max()
        print(f"{name}: {swift.duration:.3f} s; motors use up to {use.max():.2%}; loops closed to {gap:.0e} m")
    cycle = times["loaded"] + times["empty"]
    print(f"around with a product and back without: {cycle:.3f} s, {60.0 / cycle:.0f} cycles a minute")
    return found, use, gap


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1001)
