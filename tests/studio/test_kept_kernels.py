"""Code that is used again for robots that differ in numbers alone, and made anew for others."""

from types import SimpleNamespace

import numpy as np
import pytest

import kinetree as kt
from helpers.node import needs_node
from helpers.page_in_node import computed
from kinetree_studio.page.computing_page import code_data, content
from kinetree_studio.page.kept_kernels import KeptKernels


@pytest.fixture
def kept():
    made = KeptKernels()
    yield made
    made.close()


def arm(**changed):
    """A hinge with every number that can be given, then a slide, with a spring between points."""
    has = {"shift": (0.1, 0.02, -0.3), "axis": "x", "rest": 0.3, "friction": 0.2, "actuated": True, "rpy": (0, 0.3, 0)}
    has |= {"rotor": 1e-4, "stiffness": 3.0, "mass": 1.4, "product": 0.002, "gravity": (0.5, 0, -9.81), "pull": 40.0}
    has |= changed
    b = kt.Builder("arm", gravity=has["gravity"])
    b.body(
        "upper", "base", kt.Revolute("y"), mass=has["mass"], com=(0.03, 0, -0.15), damping=0.1,
        friction=has["friction"],
        inertia=(0.02, 0.03, 0.015, has["product"], 0, 0), rotor_inertia=has["rotor"], gear_ratio=50.0,
        stiffness=has["stiffness"], spring_rest=has["rest"],
    )  # fmt: skip
    b.body(
        "lower", "upper", kt.Prismatic(has["axis"]), position=has["shift"], rpy=has["rpy"], mass=0.7,
        com=(0, 0.01, -0.2),
        inertia=(0.01, 0.01, 0.01), actuated=has["actuated"],
    )  # fmt: skip
    b.tendon("spring", points=[("base", (0.3, 0, 0)), ("lower", (0, 0, 0.1))], stiffness=has["pull"], rest=0.1)
    return b.build()


NUMBERS = {
    "shift": (0.2, 0.0, -0.5), "rest": -0.1, "friction": 0.5, "rotor": 3e-4, "stiffness": 5.0, "mass": 3.0,
    "product": 0.0, "gravity": (0, 0, -1.62), "pull": 12.0,
}  # fmt: skip

OTHERS = {"axis": "z", "friction": 0.0, "actuated": False, "rpy": (0.1, 0.3, 0), "rotor": 0.0}


def page_with_code_of(first, other, kept):
    """The page of one robot with code that was made for another."""
    data, kernels, numbers = content(other, kept=kept)
    facts = data["compute"] | code_data(kept.code(first))
    assert facts["laws"] == first
    return SimpleNamespace(facts=facts, kernels=kernels, numbers=numbers, robot=other)


@needs_node
@pytest.mark.slow
@pytest.mark.parametrize("changed", [NUMBERS, {"mass": 2.0}])
def test_code_of_one_robot_gives_the_numbers_of_another_one(kept, changed):
    first = content(arm(), kept=kept)[0]["compute"]["laws"]
    other = arm(**changed)
    page = page_with_code_of(first, other, kept)
    rng = np.random.default_rng(5)
    q, v, a = rng.standard_normal((3, other.nv))
    body = f"""
        const q = array({q.tolist()}), v = array({v.tolist()}), a = array({a.tolist()});
        const told = mechanism.told(engine.call("motion", {{ q, v, a, p }}));
        const tau = told.tau.slice(), energies = [told.kinetic, told.potential];
        const state = array([...q, ...v, ...new Array(facts.nz).fill(0)]);
        return [tau, energies, mechanism.look(q).poses.slice(), mechanism.steps(0, state, 1e-3, 50)];
    """
    tau, energies, poses, after = computed(page, body)
    np.testing.assert_allclose(tau, other.inverse_dynamics(q, v, a, friction=True), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(energies, [other.kinetic_energy(q, v), other.potential_energy(q)], rtol=1e-9)
    np.testing.assert_allclose(poses[7:10], other.pose(q, "lower")[:3, 3], atol=1e-12)
    record = kt.simulate(other, q, v, time=0.05, step=1e-3, integrator="rk4", progress=False)
    np.testing.assert_allclose(after[: other.nq], record.q[-1], rtol=1e-9, atol=1e-10)


@needs_node
@pytest.mark.slow
def test_lengths_of_a_loop_are_numbers_too(kept):
    robot = kt.load("four-bar")
    first = content(robot, kept=kept)[0]["compute"]["laws"]
    longer = {"joints": {"coupler_joint": {"position": (0.13, 0, 0)}}, "loops": {"crank_pin": {"seat": (0.12, 0, 0)}}}
    other = robot.with_parameters(longer)
    page = page_with_code_of(first, other, kept)
    q = other.close(page.facts["q"])
    tau = computed(page, f"return mechanism.motion(array({q.tolist()}), array([0,0,0]), array([0,0,0])).tau.slice()")
    still = np.zeros(3)
    np.testing.assert_allclose(tau, other.inverse_dynamics(q, still, still), atol=1e-9)


@pytest.mark.parametrize("changed", [{name: x} for name, x in OTHERS.items()], ids=OTHERS)
def test_another_structure_has_other_code(kept, changed):
    first = content(arm(), kept=kept)[0]["compute"]["laws"]
    assert content(arm(**changed), kept=kept)[0]["compute"]["laws"] != first
    assert content(arm(), kept=kept)[0]["compute"]["laws"] == first  # and the first is still known


@pytest.mark.slow
def test_a_choice_of_freedoms_that_fails_is_made_anew(kept):
    # of a parallelogram in line, the crank does not determine the other joints
    def linkage(crank):
        return kt.linkage(
            points={"A": (0, 0), "B": crank, "C": (0.3 + crank[0], crank[1]), "D": (0.3, 0)}, motor="A",
            bars={"crank": ("A", "B"), "coupler": ("B", "C"), "rocker": ("C", "D")}, ground=("A", "D"),
            width=0.01, thickness=0.005, density=7850,
        )  # fmt: skip

    first = content(linkage((0.0, 0.1)), kept=kept)
    assert content(linkage((0.01, 0.1)), kept=kept)[0]["compute"]["laws"] == first[0]["compute"]["laws"]
    kernels = first[1]
    flat = kernels.robot.neutral()
    flat[0] -= np.pi / 2
    flat = kernels.robot.close(flat, fixed=[kernels.robot.joint_names[0]])
    assert kernels.is_good_at(kernels.varied, kernels.q)
    assert not kernels.is_good_at(kernels.varied, flat)


@pytest.mark.slow
def test_old_code_is_forgotten_and_refused_by_name(kept, monkeypatch):
    monkeypatch.setattr("kinetree_studio.page.kept_kernels.MOST_KEPT", 2)
    names = [content(arm(**{key: OTHERS[key]}), kept=kept)[0]["compute"]["laws"] for key in ("axis", "friction", "rpy")]
    assert kept.code(names[-1]) is not None
    with pytest.raises(kt.KinetreeError, match=r"no laws named '1' any more"):
        kept.code(names[0])
