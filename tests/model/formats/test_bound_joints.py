"""Joints bound by mimics, gears and couplings, in every format that has words for them, against multipliers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from numpy.polynomial import Polynomial

import kinetree as kt
from helpers.compare import assert_close
from helpers.robots import random_mass, random_pose

HINGE = (kt.Revolute, kt.Continuous)


@dataclass(frozen=True)
class Relation:
    """Says that a sum of joints is a polynomial of another sum, y = p(x)."""

    y: dict[str, float]
    x: dict[str, float]
    p: list[float] = field(default_factory=lambda: [0.0, 1.0])
    mimic: bool = False

    def along(self, rates: dict[str, float], of: str) -> float:
        return sum(c * rates[name] for name, c in getattr(self, of).items())

    def hold(self, q: dict[str, float], v: dict[str, float]) -> None:
        """Change the first joint of y so that it holds."""
        first, p, x = next(iter(self.y)), Polynomial(self.p), self.along(q, "x")
        q[first] += (p(x) - self.along(q, "y")) / self.y[first]
        v[first] += (p.deriv()(x) * self.along(v, "x") - self.along(v, "y")) / self.y[first]

    def row(self, q: dict[str, float], v: dict[str, float]) -> tuple[list[float], float]:
        """Return K and K'v of K a + K'v = 0."""
        p, x = Polynomial(self.p), self.along(q, "x")
        row = [self.y.get(name, 0.0) - p.deriv()(x) * self.x.get(name, 0.0) for name in q]
        return row, -float(p.deriv(2)(x)) * self.along(v, "x") ** 2


def tree(rng: np.random.Generator, relations: list[Relation] = (), n: int = 7, **joint_data) -> kt.Robot:
    """A tree of hinges and slides, its joints bound as relations say; every other body is carried by the base."""
    b = kt.Builder("bound")
    mimics = {next(iter(r.y)): kt.Mimic(next(iter(r.x)), r.p[1], r.p[0]) for r in relations if r.mimic}
    for i in range(n):
        kind = (kt.Revolute, kt.Continuous, kt.Prismatic)[int(rng.integers(3))](rng.standard_normal(3))
        parent = "base" if i % 2 == 0 else f"b{int(rng.integers(i))}"
        b.body(f"b{i}", parent, kind, joint_name=f"j{i}", placement=random_pose(rng), mass_properties=random_mass(rng),
               mimic=mimics.get(f"j{i}"), **joint_data)  # fmt: skip
    for k, r in enumerate(relations):
        if not r.mimic:
            b.coupling(f"c{k}", r.y, r.x or None, r.p)
    return b.build()


def check(robot: kt.Robot, alone: kt.Robot, relations: list[Relation], rng: np.random.Generator) -> None:
    """Hold a robot to the tree without relations and multipliers: M a + c + K^T l = tau, K a + K'v = 0."""
    names = alone.joint_names
    q, v, tau = (dict(zip(names, rng.uniform(-0.8, 0.8, len(names)), strict=True)) for _ in range(3))
    for relation in relations:
        relation.hold(q, v)
    rows, drift = zip(*(relation.row(q, v) for relation in relations), strict=True)
    k, state = np.array(rows), (list(q.values()), list(v.values()))
    mass, bias = alone.mass_matrix(state[0]), alone.inverse_dynamics(*state, np.zeros(len(names)))
    whole = np.block([[mass, k.T], [k, np.zeros((len(k), len(k)))]])
    right = np.concatenate([np.array(list(tau.values())) - bias, -np.array(drift)])
    expected = dict(zip(names, np.linalg.solve(whole, right)[: len(names)], strict=True))

    own = [j.name for j in robot.model.joints if j.mimic is None]
    forces = {name: tau[name] for name in own}
    for joint in robot.model.joints:
        if joint.mimic is not None:
            forces[joint.mimic.leader] += joint.mimic.ratio * tau[joint.name]
    at = [q[name] for name in own]
    found = robot.forward_dynamics(at, [v[name] for name in own], list(forces.values()))
    assert_close(found, [expected[name] for name in own], 1e-9)
    for joint in robot.model.joints:  # what follows is where it belongs
        if joint.mimic is not None:
            assert q[joint.name] == pytest.approx(joint.mimic.ratio * q[joint.mimic.leader] + joint.mimic.offset)
    freedoms = robot.mobility(at).freedoms if isinstance(robot, kt.Mechanism) else robot.nv
    assert freedoms == len(names) - len(relations)


def number(rng: np.random.Generator) -> float:
    """A coefficient of any size and sign, not near zero; often one."""
    return float(rng.choice([1.0, -1.0, rng.uniform(0.2, 12.0), -rng.uniform(0.2, 12.0)]))


def random_relations(rng: np.random.Generator, kinds: str, n: int = 7) -> list[Relation]:
    """Relations between joints that no two of them share: m(imics), p(airs), s(ums) and c(ams)."""
    free = [f"j{i}" for i in rng.permutation(n)]
    found = []
    for kind in rng.permutation(list(kinds)):
        if kind == "s":
            y, x = ({free.pop(): number(rng) for _ in range(2)} for _ in range(2))
            found.append(Relation(y, x if rng.random() < 0.8 else {}, [rng.uniform(-1, 1)]))
            if found[-1].x:
                found[-1].p.append(number(rng))
        else:
            p = [rng.uniform(-0.5, 0.5), number(rng), *(rng.uniform(-0.2, 0.2, 3) if kind == "c" else ())]
            found.append(Relation({free.pop(): 1.0}, {free.pop(): 1.0}, [float(c) for c in p], kind == "m"))
    return found


@pytest.mark.parametrize("mimic", ["follow", "couple"])
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("ending", ["yaml", "urdf", "xml"])
def test_random_relations_come_back(tmp_path, ending, seed, mimic):
    rng = np.random.default_rng(seed)
    relations = random_relations(rng, ("ms", "pc", "mpc", "sp", "mmp", "cs")[seed])
    alone, bound = (tree(np.random.default_rng(seed), given) for given in ([], relations))
    check(bound, alone, relations, np.random.default_rng(seed))
    bound.save(tmp_path / f"bound.{ending}")
    again = kt.load(tmp_path / f"bound.{ending}", mimic=mimic)
    check(again, alone, relations, np.random.default_rng(seed))
    assert mimic == "follow" or not any(j.mimic for j in again.model.joints)


@pytest.mark.parametrize("seed", range(8))
def test_random_mimics_and_gears_come_back_from_sdf(tmp_path, seed):
    """SDF has mimics between any two joints, and gearboxes between hinges on one link."""
    rng = np.random.default_rng(seed)
    relations = random_relations(rng, "m" * (1 + seed % 3))
    used = {name for r in relations for name in (*r.y, *r.x)}
    on_base = {f"j{i}": None for i in range(0, 7, 2)}
    alone = tree(np.random.default_rng(seed))
    hinges = [n for n in on_base if n not in used and isinstance(alone.model.joint(n).kind, HINGE)]
    if len(hinges) > 1:
        relations.append(Relation({hinges[0]: number(rng)}, {hinges[1]: number(rng)}, [0.0, number(rng)]))
    bound = tree(np.random.default_rng(seed), relations)
    bound.save(tmp_path / "bound.sdf")
    check(kt.load(tmp_path / "bound.sdf"), alone, relations, np.random.default_rng(seed))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("ending", ["yaml", "urdf", "xml"])
def test_random_relations_that_share_joints_come_back(tmp_path, ending, seed):
    """Chains of followers, joints bound twice, and sums over joints that follow others."""
    rng = np.random.default_rng(100 + seed)
    alone = tree(np.random.default_rng(seed))
    names, relations = alone.joint_names, []
    ties, offsets = np.zeros((0, 7)), []
    while len(relations) < 4:
        few = [str(name) for name in rng.choice(names, 2 if rng.random() < 0.6 else 3, replace=False)]
        y, x = {few[0]: 1.0}, {name: 1.0 if len(few) == 2 else number(rng) for name in few[1:]}
        relation = Relation(y, x, [rng.uniform(-0.5, 0.5), number(rng)], len(few) == 2 and rng.random() < 0.5)
        row = relation.row(dict.fromkeys(names, 0.0), dict.fromkeys(names, 0.0))[0]
        if np.linalg.matrix_rank([*ties, row], tol=1e-6) == len(ties):
            continue  # it says what others say, or contradicts them
        mimics = {next(iter(r.y)): next(iter(r.x)) for r in relations if r.mimic}
        leader = few[1]
        while relation.mimic and leader in mimics and leader != few[0]:
            leader = mimics[leader]
        if relation.mimic and (few[0] in mimics or leader == few[0]):
            continue  # a joint follows one other, and not itself
        ties = np.array([*ties, row])
        offsets.append(relation.p[0])
        relations.append(relation)
    bound = tree(np.random.default_rng(seed), relations)
    check_linear(bound, alone, ties, np.random.default_rng(seed), offsets)
    bound.save(tmp_path / f"bound.{ending}")
    for mimic in ("follow", "couple"):
        again = kt.load(tmp_path / f"bound.{ending}", mimic=mimic)
        check_linear(again, alone, ties, np.random.default_rng(seed), offsets)


# Gears and belts of URDF+: <coupling>


def above(robot: kt.Robot, link: str) -> list[str]:
    """The joints between the base and a link."""
    joints = robot.model.joints
    return [joints[i].name for i in robot.model.support(robot.model.body_index[link])]


@pytest.mark.parametrize("seed", range(8))
def test_random_couplings_of_urdf_plus(tmp_path, seed):
    """Ratio times the sum of joints up to the predecessor is that up to the successor, from where they part."""
    rng = np.random.default_rng(seed)
    alone = tree(np.random.default_rng(seed))
    alone.save(tmp_path / "alone.urdf")
    links = [f"b{i}" for i in rng.permutation(7)]
    relations, elements, ties = [], [], np.zeros((0, 7))
    while len(relations) < 3:
        one, two = rng.choice(links, 2, replace=False)
        ratio = number(rng)
        parts = [[n for n in above(alone, a) if n not in above(alone, b)] for a, b in ((one, two), (two, one))]
        y, x = (dict.fromkeys(names, c) for names, c in zip(parts[::-1], (1.0, ratio), strict=True))
        relation = Relation(y or x, x if y else {}, [0.0, 1.0] if y and x else [0.0])
        row = relation.row(dict.fromkeys(alone.joint_names, 0.0), dict.fromkeys(alone.joint_names, 0.0))[0]
        if np.linalg.matrix_rank([*ties, row]) > len(ties):  # else it says what others say
            ties = np.array([*ties, row])
            relations.append(relation)
            elements.append(
                f'<coupling name="k{len(ties)}"><predecessor link="{one}"/><successor link="{two}"/>'
                f'<ratio value="{ratio!r}"/></coupling>'
            )
    text = (tmp_path / "alone.urdf").read_text().replace("</robot>", "\n".join(elements) + "</robot>")
    (tmp_path / "bound.urdf").write_text(text)
    for mimic in ("follow", "couple"):
        robot = kt.load(tmp_path / "bound.urdf", mimic=mimic)
        check_linear(robot, alone, ties, np.random.default_rng(seed))
    assert kt.load(tmp_path / "bound.urdf", mimic="independent").model == kt.load(tmp_path / "alone.urdf").model


def check_linear(
    robot: kt.Robot, alone: kt.Robot, k: np.ndarray, rng: np.random.Generator, offsets: Sequence[float] = (0.0,)
) -> None:
    """As ``check``, for relations K q = offsets that may share joints: motions that K allows, and forces along them."""
    names = alone.joint_names
    free = np.linalg.svd(k)[2][len(k) :].T
    q, v = (free @ rng.uniform(-0.8, 0.8, free.shape[1]) for _ in range(2))
    q = q + np.linalg.pinv(k) @ np.broadcast_to(offsets, len(k))
    tau = rng.uniform(-0.8, 0.8, len(names))
    bias = alone.inverse_dynamics(q, v, np.zeros(len(names)))
    expected = free @ np.linalg.solve(free.T @ alone.mass_matrix(q) @ free, free.T @ (tau - bias))
    own = [j.name for j in robot.model.joints if j.mimic is None]
    to_own, shift = np.zeros((len(names), len(own))), np.zeros(len(names))
    for joint in robot.model.joints:
        follows = joint.mimic or kt.Mimic(joint.name)
        to_own[names.index(joint.name), own.index(follows.leader)] = follows.ratio
        shift[names.index(joint.name)] = follows.offset
    pick = [names.index(name) for name in own]
    assert_close(to_own @ q[pick] + shift, q, 1e-11)
    assert_close(to_own @ robot.forward_dynamics(q[pick], v[pick], to_own.T @ tau), expected, 1e-9)
    freedoms = robot.mobility(q[pick]).freedoms if isinstance(robot, kt.Mechanism) else robot.nv
    assert freedoms == free.shape[1]


ROTORS = """<robot name="leg"><link name="world"/>
  <joint name="float" type="floating"><parent link="world"/><child link="hip"/></joint>
  {links}
  {joints}
  <coupling name="a"><predecessor link="thigh"/><successor link="thigh_rotor"/><ratio value="6.0"/></coupling>
  <coupling name="b"><predecessor link="shank"/><successor link="shank_rotor"/><ratio value="9.33"/></coupling>
  <coupling name="c"><predecessor link="foot"/><successor link="foot_rotor"/><ratio value="12"/></coupling>
</robot>"""


def leg(tmp_path: Path, driven: str = "link") -> Path:
    """A leg with rotors as generalized_rbda has them: that of the foot sits on the thigh, two joints up."""
    carried = {"thigh": "hip", "thigh_rotor": "hip", "shank": "thigh", "shank_rotor": "thigh", "foot": "shank",
               "foot_rotor": "thigh"}  # fmt: skip
    inertial = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    links = [f'<link name="{n}">{inertial}</link>' for n in ("hip", *carried)]
    joints = [
        f'<joint name="{n}_joint" type="revolute" independent="{("rotor" in n) == (driven == "rotor")}"><axis '
        f'xyz="0 1 0"/><parent link="{parent}"/><child link="{n}"/><origin xyz="0 0 -0.2"/>'
        '<limit effort="150" lower="-10" upper="10" velocity="100"/></joint>'
        for n, parent in carried.items()
    ]
    path = tmp_path / "leg.urdf"
    path.write_text(ROTORS.format(links="\n".join(links), joints="\n".join(joints)))
    return path


def test_rotors_of_urdf_plus_follow_their_links(tmp_path):
    robot = kt.load(leg(tmp_path))
    assert robot.model.joint("thigh_rotor_joint").mimic == kt.Mimic("thigh_joint", 6.0, 0.0)
    (coupling,) = robot.model.couplings
    assert (coupling.joints, set(coupling.follows)) == (("foot_rotor_joint",), {"shank_joint", "foot_joint"})
    assert robot.mobility(robot.neutral()).freedoms == 6 + 3
    # the joint with a motor leads, whatever side it is on
    turned = kt.load(leg(tmp_path, driven="rotor"))
    assert turned.model.joint("thigh_joint").mimic == kt.Mimic("thigh_rotor_joint", 1.0 / 6.0, 0.0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('thigh_rotor"/><ratio', 'motor"/><ratio'), "line 16: the successor of coupling 'a': no link named 'motor'"),
        (('value="6.0"', 'value="0"'), "line 16: coupling 'a' couples nothing: its ratio is 0"),
        (('<successor link="thigh_rotor"/>', '<successor link="thigh"/>'), "no moving joint is between its links"),
        (('<successor link="thigh_rotor"/>', ""), "line 16: coupling 'a' has no <successor>"),
        (('<predecessor link="thigh"/>', '<predecessor link="world"/>'), "joint 'float' has 6 degrees of freedom"),
    ],
)
def test_couplings_that_bind_nothing(tmp_path, change, message):
    path = leg(tmp_path)
    path.write_text(path.read_text().replace(*change))
    with pytest.raises(kt.FileFormatError, match=message):
        kt.load(path)


def test_a_joint_bound_twice_has_a_coupling(tmp_path):
    """Two gears on one wheel, and three wheels in a circle: followers as far as that goes, then constraints."""
    path = leg(tmp_path)
    more = (
        '<coupling name="d"><predecessor link="shank"/><successor link="shank_rotor"/><ratio value="9.33"/></coupling>'
    )
    more += '<coupling name="e"><predecessor link="shank_rotor"/><successor link="shank"/><ratio value="2"/></coupling>'
    path.write_text(path.read_text().replace("</robot>", more + "</robot>"))
    robot = kt.load(path)
    assert [c.name for c in robot.model.couplings] == ["c", "d", "e"]
    assert robot.mobility(robot.neutral()).freedoms == 6 + 2  # the last holds the knee where it is
