"""A toggle clamp with a spring: the force of the hand, the clamping force, and the rest position."""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq, minimize_scalar

from kinetree.motion.equilibrium import equilibrium
from kinetree.robot.mechanism import Mechanism
from kinetree.spatial.arrays import Array
from kinetree.spatial.taylor import Jet, as_jet
from kinetree.studies.fact_files import stated
from kinetree.studies.named_systems import load
from kinetree.studies.plots import Curve, Curves, PlotPanel
from kinetree.studies.study import Outcome, Study

from ...analyses.free_fall import free_fall
from ...analyses.inverse_dynamics import inverse
from ...analyses.replay import replay
from .system import BEYOND, REST, STIFFNESS, length

DEGREE = np.pi / 180.0


def _by_hand(turned: Array | float) -> tuple[Array, Array]:
    """Return the spring's force and the handle's torque: intersections of circles, differentiated, and virtual work."""
    long = as_jet(length(Jet(np.asarray(turned, dtype=float), 1.0, 0.0)))
    force = STIFFNESS * (REST - long.value)
    return force, -force * long.first


def _clamping(quick: bool) -> Outcome:
    """Turn the handle slowly, through the toggle position and beyond."""
    clamp = load("toggle-clamp")
    assert isinstance(clamp, Mechanism)
    relaxed = np.array([brentq(lambda x: float(length(x)) - REST, *ends) for ends in ((-0.6, -0.1), (0.1, 0.6))])
    turned = np.linspace(relaxed[0], 5.0 * DEGREE, 201 if quick else 801)
    q, still = clamp.follow({"O": turned}), np.zeros((len(turned), 3))
    torque, (spring, by_hand) = clamp.inverse_dynamics(q, still, still)[:, 0], _by_hand(turned)
    hardest = minimize_scalar(lambda x: -float(_by_hand(x)[1]), bounds=(relaxed[0], 0.0), options={"xatol": 1e-10})
    toggle = clamp.constraint_forces(clamp.neutral(), np.zeros(3), np.zeros(3))
    here = clamp.follow({"O": np.array([hardest.x, BEYOND])})
    held = [equilibrium(clamp, at, held=["O"]).tau[0] for at in here]
    free = [equilibrium(clamp, at, held=[]) for at in here]
    free.append(equilibrium(clamp, clamp.neutral(), held=[], descend=False))  # the place it would fall away from
    energy = clamp.potential_energy(clamp.neutral())
    facts = stated(
        "toggle-clamp", "clamping", torque=torque - by_hand, toggle_force=np.sqrt(2 * STIFFNESS * energy), work=energy,
        link=np.linalg.norm(toggle.at("B")[3:]), pivot=np.linalg.norm(toggle.joint_wrenches[2, 3:]),
        toggle_torque=toggle.tau[0], hardest=held[0], hardest_by_hand=-hardest.fun, stop=held[1],
        stop_by_hand=_by_hand(BEYOND)[1], rests=[one.q[0] / DEGREE for one in free[:2]], relaxed=relaxed / DEGREE,
        stable=[one.stable for one in free], frequency=free[0].frequencies[0],
        by_energy=_frequency(clamp, free[0].q, relaxed[0]),
    )  # fmt: skip
    panels = [
        PlotPanel("torque [N m]", [Curve("of the handle", torque)]),
        PlotPanel("force [N]", [Curve("of the clamp", spring)]),
    ]
    caption = (
        "Slowly closed: the torque vanishes in the toggle position, where the clamp holds most; beyond it the clamp "
        "keeps itself closed."
    )
    remark = (
        f"The handle goes from where the spring is relaxed through its hardest place at {hardest.x / DEGREE:.2f} "
        "degrees; 0 is the toggle position. Free, it rests where the spring is relaxed, before or after; in between "
        "it is balanced on the toggle position, from which it falls either way. From the hardest place on the spring "
        "helps to close: there nothing replays without control, so the replay ends before."
    )
    figure = Curves(turned / DEGREE, panels, caption, "handle from the toggle position [degrees]")
    return Outcome(facts, {}, {}, {"clamping": figure}, [remark])


def _frequency(clamp: Mechanism, q: Array, turned: float) -> float:
    """Return the natural frequency at a rest position: k L'^2 over the inertia felt at the handle."""
    slope = as_jet(length(Jet(np.asarray(turned), 1.0, 0.0))).first
    rates = clamp.velocities(q, [1.0])
    return float(np.sqrt(STIFFNESS * slope**2 / (2.0 * clamp.kinetic_energy(q, rates))) / (2.0 * np.pi))


STUDY = Study.of(
    "toggle-clamp",
    {
        "inverse": inverse("toggle-clamp"),
        "replay": replay("toggle-clamp", share=0.35),
        "free-fall": free_fall("toggle-clamp", 0.4),
        "clamping": _clamping,
    },
)
