"""A row of dominoes against the train of van Leeuwen, The domino effect, Am. J. Phys. 78, 721 (2010), without friction.

Shaw's train (Am. J. Phys. 46, 640, 1978): dominoes that have fallen against the next one stay in contact with it, so
that the angle of the head determines all others, and an impact keeps the momentum that belongs to that motion.
"""

from itertools import pairwise

import numpy as np
import pytest

import kinetree as kt

S, G = kt.shapes, 9.81
HEIGHT, THICK, WIDE, GAP = 0.048, 0.0075, 0.024, 0.016
PITCH, PUSH = GAP + THICK, 18.0


def train(angle, count):
    """Return the angles of a train and their rates by that of its head: van Leeuwen eq. 2 and its derivative."""
    angles, rates = [angle], [1.0]
    while len(angles) < count:
        share = (PITCH * np.cos(angles[-1]) - THICK) / HEIGHT
        rates.append(rates[-1] * (1.0 - PITCH * np.sin(angles[-1]) / HEIGHT / np.sqrt(1.0 - share**2)))
        angles.append(angles[-1] + np.arcsin(share))
    return np.array(angles), np.array(rates)


def speeds(count):
    """Return the speed over each gap: the energy of the train until its head hits the next one, then the impact."""
    found, rate = [], PUSH
    inertia, heads = (HEIGHT**2 + THICK**2) / 3.0, np.linspace(0.0, np.arcsin(GAP / HEIGHT), 400)
    for k in range(1, count):
        trains = [train(head, k) for head in heads]
        mass = np.array([inertia * (rates**2).sum() for _, rates in trains])
        height = np.array([0.5 * G * (HEIGHT * np.cos(a) + THICK * np.sin(a)).sum() for a, _ in trains])
        moving = np.sqrt(2.0 * (0.5 * mass[0] * rate**2 + height[0] - height) / mass)
        found.append(PITCH / np.trapezoid(1.0 / moving, heads))
        ratio, own = train(0.0, 2)[1][1], mass[-1] / inertia
        rate = ratio * own * moving[-1] / (1.0 + ratio**2 * own)
    return np.array(found)


@pytest.mark.slow
def test_dominoes_fall_as_fast_as_van_leeuwen_says():
    count = 8
    names = [f"domino_{k}" for k in range(count)]
    box = S.Box((THICK, WIDE, HEIGHT))
    things = {x: kt.Thing(box, density=1040, position=(k * PITCH, 0, HEIGHT / 2)) for k, x in enumerate(names)}
    room = kt.Robot(kt.scene(things=things, terrain=kt.terrain.floor()).model, backend="compiled")
    law = kt.ground.HuntCrossley(2e5, 20.0, exponent=1)
    ground = [
        kt.forces.ShapeContact.of(room, pairs=[("floor", x) for x in names], normal=law, friction=2.0),
        kt.forces.ShapeContact.of(room, pairs=list(pairwise(names)), normal=law, friction=0.0),
    ]
    v = np.zeros(room.nv)  # the first one turns about its lower edge
    v[1], v[3], v[5] = PUSH, PUSH * HEIGHT / 2, PUSH * THICK / 2
    how = {"integrator": "implicit_euler", "step": 2e-4}
    record = kt.simulate(room, v0=v, time=0.25, ground=ground, samples=251, **how)
    tilts = 2.0 * np.arcsin(record.q.reshape(251, count, 7)[:, :, 1])
    hits = [np.interp(0.02, tilt[: tilt.argmax() + 1], record.time[: tilt.argmax() + 1]) for tilt in tilts.T[1:]]
    assert PITCH / np.diff(hits) == pytest.approx(speeds(count)[1:], rel=0.03)
    assert record.energy.ground_gain.max() < 1e-6
