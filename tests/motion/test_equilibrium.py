"""Where robots come to rest, judged by closed forms, by energy, and by the dynamics."""

import re

import numpy as np
import pytest
from scipy.optimize import brentq

import kinetree as kt
from kinetree_gallery.systems.toggle_clamp.system import length


def test_a_flap_on_a_spring():
    b = kt.Builder("flap")
    spring = {"stiffness": 20.0, "actuated": False}
    b.body("flap", "base", kt.Revolute("y"), mass=1, com=(0.5, 0, 0), inertia=(0.1, 0.1, 0.1), **spring)
    flap, weight = b.build(), 9.81 * 0.5
    found = kt.equilibrium(flap, tau={"flap_joint": 3.0})
    assert found.q[0] == pytest.approx(brentq(lambda x: 20.0 * x - weight * np.cos(x) - 3.0, -1, 1), abs=1e-9)
    assert found.stiffness[0, 0] == pytest.approx(20.0 + weight * np.sin(found.q[0]), rel=1e-6)
    loose = flap.with_springs({"flap_joint": 0.0})
    assert kt.equilibrium(loose, [0.3]).q[0] == pytest.approx(np.pi / 2)  # it hangs
    with pytest.warns(kt.KinetreeWarning, match="'flap' is balanced here, but does not come to rest here"):
        upright = kt.equilibrium(loose, [-np.pi / 2])
    assert not upright.stable
    assert "unstable equilibrium, 1 free motion: beside it" in str(upright)
    with pytest.raises(kt.OptionError, match="'flap_joint' is held"):
        kt.equilibrium(flap, held=["flap_joint"], tau={"flap_joint": 1.0})


def test_a_linkage_on_a_spring():
    bars = kt.load("four-bar").with_springs({"rocker_joint": 9.0}, {"rocker_joint": 1.3})
    start, still = kt.gallery.start("four-bar"), np.zeros(3)
    found = kt.equilibrium(bars, start, held=[])
    assert found.stable
    assert np.abs(bars.forward_dynamics(found.q, still, still)).max() < 1e-6

    def energy(crank):
        return float(bars.potential_energy(bars.close(found.q, fixed={"crank_joint": crank})))

    crank, h = found.q[0], 1e-3
    second = (energy(crank + h) - 2.0 * energy(crank) + energy(crank - h)) / h**2
    assert found.stiffness[0, 0] == pytest.approx(second * found.motions[0, 0] ** 2, rel=1e-4)
    held = kt.equilibrium(bars, start, held={"crank_joint": 0.3})
    assert held.q[0] == 0.3
    np.testing.assert_allclose(held.tau, bars.inverse_dynamics(held.q, still, still), atol=1e-9)


def lamp(k, *, coupled=False, upper=1.2):
    b = kt.Builder("lamp")
    b.body("arm", "base", kt.Revolute("y"), mass=2.0, com=(0, 0, 0.5), lower=-0.2, upper=upper, actuated=False)
    b.tendon("spring", points=[("base", (0, 0, 0.3)), ("arm", (0, 0, 0.2))], stiffness=k, rest=0.0)
    if coupled:
        b.body("wheel", "base", kt.Revolute("y"), mass=1.0, inertia=(0.1, 0.1, 0.1), upper=1.0, actuated=False)
        b.coupling("belt", "wheel_joint", {"arm_joint": 2.0})
    return b.build().with_backend("reference")


def test_stops_hold():
    """m g c sin(q) pushes the arm over, the spring k a b sin(q) holds it: the one at the stop is what is left."""
    balance = 2.0 * 9.81 * 0.5 / (0.3 * 0.2)
    weak = kt.equilibrium(lamp(0.5 * balance), [0.3])
    assert weak.q[0] == 1.2
    assert weak.stable
    assert weak.stops == {"arm_joint": pytest.approx(-0.5 * 9.81 * np.sin(1.2))}
    assert weak.tau[0] == 0.0
    assert "force of the stop" in str(weak)
    assert kt.equilibrium(lamp(0.5 * balance), [1.2], tau={"arm_joint": -7.0}).q[0] == -0.2  # it is let go
    beyond = kt.equilibrium(lamp(0.5 * balance), [0.3], limits=False)
    assert beyond.q[0] == pytest.approx(np.pi)
    assert beyond.stops == {}
    balanced = kt.equilibrium(lamp(balance), [0.7])
    assert balanced.stable
    assert balanced.q[0] == 0.7
    assert balanced.frequencies.tolist() == [0.0]
    assert (balanced.kind, balanced.indifferent) == ("indifferent", 1)
    assert "indifferent equilibrium, 1 free motion, nothing brings it back along it" in str(balanced)
    with pytest.raises(kt.OptionError, match=r"'arm_joint' would be at 1\.3 rad, its limits are -0\.2 to 1\.2"):
        kt.equilibrium(lamp(balance), [1.3])
    with pytest.raises(kt.OptionError, match="for q in guesses"):
        kt.equilibrium(lamp(balance), [[0.1], [0.2]])
    wheel = kt.equilibrium(lamp(0.5 * balance, coupled=True), [0.1, 0.2])  # the follower's stop, felt by half
    np.testing.assert_allclose(wheel.q, [0.5, 1.0], atol=1e-12)
    assert wheel.stops == {"wheel_joint": pytest.approx(-0.25 * 9.81 * np.sin(0.5))}


def test_a_clamp_of_bars_without_mass():
    """The same rest and the same torques as with mass, by intersecting circles."""
    given = {
        "points": {"O": (0, 0), "A": (0, 30), "B": (0, 80), "C": (40, 80), "pad": (100, 80), "seat": (100, 40)},
        "bars": {"handle": "O A", "link": "A B", "arm": "C B pad"},
        "springs": {"spring": {"between": "pad seat", "stiffness": "200 N/mm", "rest": 45}},
        "ground": "O C seat", "motor": "O", "units": "mm", "gravity": (0, 0),
    }  # fmt: skip
    light, heavy = kt.linkage(**given), kt.linkage(**given, width=20, thickness=5, density=7850)
    for held in (None, {"O": "3 deg"}, {"O": "-12 deg"}):
        np.testing.assert_allclose(
            kt.equilibrium(light, held=held).tau, kt.equilibrium(heavy, held=held).tau, atol=1e-9
        )
    assert kt.equilibrium(light, held={"O": "3 deg"}).tau[0] == pytest.approx(-3.692857750793625, rel=1e-9)
    free = kt.equilibrium(light, light.follow({"O": [-0.1]})[0], held=[])
    assert free.q[0] == pytest.approx(brentq(lambda x: length(x) - 0.045, -0.6, -0.1), abs=1e-9)
    assert free.stable
    assert not kt.equilibrium(light, held=[], descend=False).stable
    with pytest.raises(kt.OptionError, match="the position of 'O': '3 mm' does not fit"):
        kt.equilibrium(light, held={"O": "3 mm"})


def clamp_with_a_stop(**bars):
    """A toggle clamp that a stiff spring stops 2.76 degrees beyond the place where it holds best."""
    return kt.linkage(
        {"O": (0, 0), "A": (0, 42), "B": (0, 110), "C": (55, 110), "pad": (135, 110), "seat": (135, 50),
         "S": (-30, 42)},
        {"handle": "O A", "link": "A B", "arm": "C B pad"}, ground="O C seat S", motor="O", units="mm", gravity=(0, 0),
        springs={
            "pressed": {"between": "pad seat", "stiffness": "150 N/mm", "rest": 66, "pushes_only": True},
            "stop": {"between": "A S", "stiffness": "5000 N/mm", "rest": 28, "pushes_only": True},
        }, **bars,
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("bars", [{}, {"width": 20, "thickness": 6, "density": 7850}])
def test_it_sinks_to_the_stop_and_never_climbs_to_the_dead_point(bars):
    clamp = clamp_with_a_stop(**bars)
    turned = np.radians(np.linspace(-3.0, 4.0, 1401))
    energy = clamp.potential_energy(clamp.follow({"O": turned}))
    least = np.degrees(turned[700:][energy[700:].argmin()])
    for start in (0.2, 1.0, 1.5, 2.5, 4.0):
        q = clamp.follow({"O": np.radians([0.0, start])})[-1]
        found = kt.equilibrium(clamp, q, held=[])
        assert found.kind == "stable"
        assert np.degrees(found.q[0]) == pytest.approx(least, abs=0.01)
        assert clamp.potential_energy(found.q) < clamp.potential_energy(q)
    for start in (-0.5, -1.0, -2.0):  # the pad is slack, or just relaxed
        open_ = kt.equilibrium(clamp, clamp.follow({"O": np.radians([0.0, start])})[-1], held=[])
        assert clamp.potential_energy(open_.q) < 1e-15
        assert (open_.kind, open_.stable) == ("indifferent", True)
    top = kt.equilibrium(clamp, clamp.follow({"O": np.radians([0.0, 1.0])})[-1], held=[], descend=False)
    assert top.q[0] == pytest.approx(0.0, abs=1e-9)
    assert top.kind == "unstable"


def chain_of(count, kind=None, **joint):
    b = kt.Builder("chain")
    for k in range(count):
        parent, place = ("base", (0, 0, 0)) if k == 0 else (f"b{k - 1}", (0, 0, -0.5))
        b.body(f"b{k}", parent, kind or kt.Revolute("y"), position=place, mass=2.0, com=(0, 0, -0.3),
               inertia=(0.02, 0.03, 0.01), actuated=False, **joint)  # fmt: skip
    return b.build().with_backend("reference")


@pytest.mark.parametrize(
    "start", [[np.pi - 0.02, 0.0], [np.pi, 0.01], [np.pi - 1e-6, 0.0], [np.pi - 0.5, 0.5], [0.1, np.pi], [3.1, -3.1]]
)
def test_a_double_pendulum_hangs_wherever_it_starts(start):
    """Also from a start on the ridge, from which the forces lead to a saddle."""
    chain = chain_of(2)
    found = kt.equilibrium(chain, start)
    assert found.kind == "stable"
    np.testing.assert_allclose(np.cos(found.q), 1.0, atol=1e-12)


def test_a_ball_joint_hangs_and_springs_with_friction_settle_as_without():
    ball = chain_of(2, kt.Spherical())
    up = ball.integrate(ball.neutral(), [np.pi - 0.01, 0.02, 0.3, 0.1, 0.2, 0.0])
    found = kt.equilibrium(ball, up)
    assert found.stable
    assert found.indifferent >= 1  # each link may spin
    assert ball.potential_energy(found.q) == pytest.approx(-2.0 * 9.81 * (0.3 + 0.8), abs=1e-8)
    # two places of rest: from each side of the ridge the nearer one, and friction does not stick
    for side in (-1.0, 1.0):
        arm = chain_of(1, stiffness=3.0, spring_rest=np.pi, friction=4.0)
        q = [np.pi + side * 0.05]
        found = kt.equilibrium(arm, q)
        assert found.kind == "stable"
        root = brentq(lambda x: 3.0 * (x - np.pi) + 2.0 * 9.81 * 0.3 * np.sin(x), *sorted([q[0], np.pi + side * 3.0]))
        assert found.q[0] == pytest.approx(root, abs=1e-8)


def test_forces_act_where_it_comes_to_rest():
    """A spring between points as an element is the spring along a tendon, and a push is a wrench."""
    balance, loose = 2.0 * 9.81 * 0.5 / (0.3 * 0.2), lamp(0.0)
    spring = kt.forces.PointSpring(("base", (0, 0, 0.3)), ("arm", (0, 0, 0.2)), stiffness=1.5 * balance)
    push = kt.forces.Push(("arm", (0, 0, 1.0)), force=(2.0, 0, 0))
    found = kt.equilibrium(loose, [0.1], forces=[spring, push])
    assert found.q[0] == pytest.approx(np.arctan(2.0 / (0.5 * 9.81)))
    assert found.stable
    stiff = np.hypot(2.0, 0.5 * 9.81)
    assert found.stiffness[0, 0] == pytest.approx(stiff)
    assert (2 * np.pi * found.frequencies[0]) ** 2 == pytest.approx(stiff / 0.5)
    held = kt.equilibrium(loose, held={"arm_joint": 0.3}, forces=push)
    assert held.tau[0] == pytest.approx(-9.81 * np.sin(0.3) - 2.0 * np.cos(0.3))


def test_what_falls_without_end_is_named():
    b = kt.Builder("stone")
    b.body("stone", "base", kt.Prismatic("z"), mass=1.0, actuated=False)
    with pytest.raises(kt.SingularError, match=r"'stone' does not come to rest .* most at 'stone_joint'"):
        kt.equilibrium(b.build())


def test_a_dead_point_on_the_way_to_rest_is_placed_and_other_freedoms_pass_it():
    """The handle of an open clamp is pushed to the end of its swing, where it no longer determines the other bars."""
    points = {"O": (0, 0), "A": (-5, 45), "B": (0, 95), "C": (60, 100), "pad": (130, 60), "part": (130, 30)}
    clamp = kt.linkage(
        {**points, "grip": (-60, 140)}, {"handle": "O A grip", "link": "A B", "arm": "C B pad"}, ground="O C part",
        springs={"rubber": {"between": "pad part", "stiffness": 15e4, "rest": 34, "pushes_only": True}}, motor="O",
        units="mm", gravity=(0, 0),
    )  # fmt: skip
    push = {"grip": kt.Wrench(force=(50, 0, 0), axes="world")}
    start = clamp.follow({"O": [-0.4]})[0]
    with pytest.raises(
        kt.SingularError, match=r"dead point while it settles, at O = -\d\.\d+ rad: .*with_independent\("
    ) as no:
        kt.equilibrium(clamp, start, held=[], wrenches=push)
    name = re.search(r"with_independent\(\['(\w)'\]\)", str(no.value))[1]
    other = clamp.with_independent([name])
    rest = kt.equilibrium(other, start, held=[], wrenches=push)
    assert rest.stable
    k = clamp.joint_names.index(name)
    q = other.follow({name: rest.q[k] + np.linspace(-0.02, 0.02, 41)}, rest.q)
    energy = clamp.potential_energy(q) - 50.0 * clamp.point_position(q, "grip")[:, 0]
    assert energy.argmin() == 20


@pytest.mark.parametrize("independent", ["O", "A", "C"])
@pytest.mark.parametrize(("push", "start"), [(-50.0, 0.05), (-20.0, -0.05), (50.0, 0.1)])
def test_a_clamp_rests_at_the_same_place_whichever_freedom_is_taken(independent, push, start):
    """Near a dead point, a short way of the handle is many turns of the others: steps are short for all joints."""
    clamp = kt.linkage(
        points={"O": (0, 0), "A": (0, 30), "B": (0, 80), "C": (40, 80), "pad": (100, 80), "seat": (100, 40)},
        bars={"handle": "O A", "link": "A B", "arm": "C B pad"},
        springs={"pressed": {"between": "pad seat", "stiffness": "200 N/mm", "rest": 45, "pushes_only": True}},
        ground="O C seat", motor="O", units="mm", gravity=(0, 0),
    )  # fmt: skip
    pushed = {"held": [], "wrenches": {"A": kt.Wrench(force=(push, 0, 0), axes="world")}}
    q = clamp.follow({"O": [start]})[0]
    if push < 0.0 < start and independent == "O":  # over the dead point, where the handle does not lead
        with pytest.raises(kt.SingularError, match=r"dead point while it settles, at O = 0\.95"):
            kt.equilibrium(clamp, q, **pushed)
        return
    found = kt.equilibrium(clamp.with_independent([independent]), q, **pushed)
    assert found.stable
    assert np.abs(found.q).max() < np.pi
    if push < 0.0 < start:  # at the dead point, as far as the bars let A go
        assert found.q[0] == pytest.approx(0.95754, abs=1e-4)
    else:  # the push along x does as much work as the spring on a small motion
        beside = [clamp.close(found.q + np.array([x, 0, 0]), fixed=["O"]) for x in (-1e-4, 1e-4)]
        assert min(_energy_of_clamp(clamp, q, push) for q in beside) > _energy_of_clamp(clamp, found.q, push) - 1e-12


def _energy_of_clamp(clamp, q, push):
    pad, pin = clamp.point_position(q, "pad"), clamp.point_position(q, "A")
    pressed = max(0.045 - np.linalg.norm(pad - [0.1, 0.04, 0.0]), 0.0)
    return 0.5 * 200e3 * pressed**2 - push * pin[0]
