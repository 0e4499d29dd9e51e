"""Plans with their gains as C, compiled strictly and compared with Python."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import kinetree as kt
from helpers.gcc import COMPILER, Library, compile_c

o = kt.optimize
pytestmark = pytest.mark.skipif(not COMPILER, reason="needs a C compiler")


def compiled(builder):
    return kt.Robot(builder.build().model, backend="compiled")


def cart_pole():
    made = kt.Builder("cart-pole")
    made.body("cart", "base", kt.Prismatic("x"), mass=1.0, joint_name="track", effort_limit=20.0)
    made.body("pole", "cart", kt.Revolute("y"), mass=0.3, com=(0, 0, -0.5), joint_name="hinge", actuated=False)
    up = [0.0, np.pi]
    costs = [o.Effort(weight=1e-2), o.Positions(up, weight=0.1)]
    limits = ["torques", o.Positions(up, at="end"), o.Velocities(at="end")]
    return kt.optimize(compiled(made), horizon=1.2, step=0.04, costs=costs, limits=limits)


def ball():
    """A body on a ball joint: its configuration is a quaternion."""
    made = kt.Builder("ball").body(
        "body", "base", kt.Spherical(), mass=1.0, com=(0.0, 0.1, -0.2), inertia=(0.1, 0.2, 0.3)
    )
    turned = [0.0, 0.0, np.sin(0.4), np.cos(0.4)]
    return kt.optimize(
        compiled(made), horizon=0.4, step=0.04, costs=[o.Effort()], limits=[o.Positions(turned, at="end")]
    )


def four_bar():
    robot = kt.load("four-bar").with_backend("compiled")
    q0 = robot.assembled()
    turned = o.Residual(lambda m: m.q[0] - (q0[0] + 0.4), name="crank", at="end")
    return kt.optimize(robot, q0, horizon=0.3, step=0.03, costs=[o.Effort()], limits=[turned])


@pytest.mark.slow
@pytest.mark.parametrize("make", [cart_pole, ball, four_bar])
@pytest.mark.parametrize("kind", ["follow", "tvlqr"])
def test_c_is_python(tmp_path, make, kind):
    plan = make()
    follower = o.follow(plan) if kind == "follow" else o.tvlqr(plan)
    header = follower.codegen(tmp_path, prefix="way")
    assert header.name == "way_plan.h"
    source = tmp_path / "called.c"
    source.write_text(
        '#include "way_plan.h"\nvoid called(const double *t, const double *q, const double *v, double *tau);\n'
        "void called(const double *t, const double *q, const double *v, double *tau) { way_plan(t[0], q, v, tau); }\n"
        '#include "way.c"\n'
    )
    robot, rng = plan.problem.robot, np.random.default_rng(1)
    library = Library(source)
    for t in (0.0, 0.04, 0.1, 0.21, 0.3, 5.0):
        k = min(int(t / plan.problem.step + 1e-9), len(plan.u) - 1)
        q = robot.integrate(plan.q[k], rng.uniform(-0.05, 0.05, robot.nv))
        v = plan.v[k] + rng.uniform(-0.2, 0.2, robot.nv)
        found = library("called", robot.nv, np.array([t]), q, v)
        assert_allclose(found, follower(t, q, v), rtol=1e-10, atol=1e-10)
    compile_c("-o", tmp_path / "own", tmp_path / "way.c", tmp_path / "way_test.c", "-lm")
