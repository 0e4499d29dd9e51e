"""Good files to begin with: small, and with a bit of everything that each format can say."""

# ruff: noqa: E501

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
from scipy.io import savemat

import kinetree as kt
from helpers import par_files, spatial_v2_structs

URDF_ARM = b"""<?xml version="1.0"?>
<robot name="arm" xmlns:kinetree="urn:kinetree">
  <link name="base"/>
  <link name="upper"><inertial><origin xyz="0 0 0.2" rpy="0.1 0 0"/><mass value="2"/>
    <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0.01" izz="0.02"/></inertial></link>
  <link name="lower"><inertial><mass value="1.5"/><inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.02"/></inertial></link>
  <link name="hand"><inertial><mass value="0.5"/><inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial></link>
  <link name="finger"><visual><geometry><mesh filename="package://x/finger.stl"/></geometry></visual></link>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/><origin xyz="0 0 0.5" rpy="0 1.57 0"/>
    <axis xyz="0 1 0"/><limit lower="-2" upper="2" effort="50" velocity="3"/><dynamics damping="0.1" friction="0.2"/></joint>
  <joint name="elbow" type="continuous"><parent link="upper"/><child link="lower"/><origin xyz="0 0 0.4"/><axis xyz="0 1 0"/></joint>
  <joint name="slide" type="prismatic"><parent link="lower"/><child link="hand"/><axis xyz="0 0 1"/>
    <limit lower="0" upper="0.2" effort="10" velocity="1"/><mimic joint="elbow" multiplier="0.1" offset="0.01"/></joint>
  <joint name="grip" type="fixed"><parent link="hand"/><child link="finger"/><origin xyz="0 0 0.1"/></joint>
</robot>
"""

PAR = tuple(text.encode() for text in (par_files.RX90, par_files.TREE, par_files.TWO_LOOPS, par_files.FLOATING))


def spatial_v2() -> tuple[bytes, ...]:
    """Return models of spatial_v2, spatial and planar, in files of MATLAB."""
    found = []
    screw = {"code": "H", "pars": {"pitch": 0.1}}
    contact = {"point": np.array([[0.1], [0.0], [0.2]]), "body": 2.0}
    for model in (
        spatial_v2_structs.tree(["Fb", "Rx", screw, "Py-"], [0, 1, 2, 1], gc=contact),
        spatial_v2_structs.planar(["r", "px", "r"], gravity=np.array([0.0, -9.81])),
    ):
        stream = io.BytesIO()
        savemat(stream, {"model": model})
        found.append(stream.getvalue())
    return tuple(found)


SDF_LOOP = b"""<sdf version="1.9"><model name="m"><frame name="f" attached_to="crank"><pose>0 0 0.3 0 0 0</pose></frame>
  <link name="ground"/>
  <link name="crank"><inertial><mass>1</mass><inertia><ixx>0.1</ixx><iyy>0.1</iyy><izz>0.1</izz></inertia></inertial></link>
  <link name="coupler"><pose relative_to="f"/></link>
  <link name="rocker"><pose>1 0 0 0 0 0</pose></link>
  <model name="hand"><pose relative_to="rocker">0 0 1 0 0 0.2</pose><link name="palm"/></model>
  <joint name="j1" type="revolute"><parent>ground</parent><child>crank</child><axis><xyz>0 1 0</xyz>
    <limit><lower>-1</lower><upper>2</upper></limit><dynamics><damping>0.1</damping></dynamics></axis></joint>
  <joint name="j2" type="revolute"><parent>crank</parent><child>coupler</child><axis><xyz>0 1 0</xyz></axis></joint>
  <joint name="j4" type="revolute"><parent>ground</parent><child>rocker</child><axis><xyz>0 1 0</xyz></axis></joint>
  <joint name="j3" type="ball"><pose>0 0 0.3 0 0 0</pose><parent>coupler</parent><child>rocker</child></joint>
  <joint name="j5" type="universal"><parent>rocker</parent><child>hand::palm</child><axis><xyz>1 0 0</xyz></axis>
    <axis2><xyz expressed_in="f">0 1 0</xyz></axis2></joint>
  <joint name="g" type="gearbox"><parent>crank</parent><child>rocker</child><gearbox_ratio>2</gearbox_ratio>
    <gearbox_reference_body>ground</gearbox_reference_body><axis><xyz>0 1 0</xyz></axis><axis2><xyz>0 1 0</xyz></axis2></joint>
</model></sdf>"""

URDF_LOOP = b"""<robot name="four_bar" xmlns:kinetree="urn:kinetree">
  <link name="ground"/>
  <link name="crank"><inertial><origin xyz="0.1 0 0"/><mass value="1"/>
    <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial></link>
  <link name="coupler"><inertial><origin xyz="0.2 0 0"/><mass value="1"/>
    <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial></link>
  <link name="rocker"><inertial><origin xyz="0.15 0 0"/><mass value="1"/>
    <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial></link>
  <joint name="a" type="continuous"><parent link="ground"/><child link="crank"/><axis xyz="0 0 1"/></joint>
  <joint name="b" type="continuous"><parent link="crank"/><child link="coupler"/><origin xyz="0.2 0 0"/><axis xyz="0 0 1"/></joint>
  <joint name="c" type="continuous"><parent link="ground"/><child link="rocker"/><origin xyz="0.3 0 0"/><axis xyz="0 0 1"/></joint>
  <kinetree:loop name="pin" type="revolute"><predecessor link="coupler"><origin xyz="0.4 0 0"/></predecessor>
    <successor link="rocker"><origin xyz="0.3 0 0"/></successor><axis xyz="0 0 1"/></kinetree:loop>
</robot>
"""

YAML_TREE = b"""kinetree: 1
name: tree
gravity: [0, 0, -9.81]
base: {name: ground, mass: 1}
bodies:
  - name: trunk
    parent: ground
    joint: {name: root, kind: free}
    mass: 5
    inertia: [0.1, 0.2, 0.15]
  - {name: a, parent: trunk, joint: {name: hip, kind: helical, axis: [0, 1, 0], pitch: 0.1, lower: -1, upper: 1}, mass: 1,
     com: [0, 0, -0.1], inertia: [0.01, 0.01, 0.002], inertia_about: origin, placement: {position: [0, 0.1, 0]}}
  - {name: b, parent: a, joint: {kind: revolute, axis: [1, 0, 0], damping: 0.1, friction: 0.2, rotor_inertia: 1e-4,
     gear_ratio: 50, mimic: {leader: hip, ratio: 2, offset: 0.1}}, placement: {rpy: [0.1, 0.2, 0.3]}, mass: 1}
  - {name: c, parent: b, joint: {kind: spherical, actuated: false}, mass: 1, inertia: [0.1, 0.1, 0.1]}
  - {name: d, parent: c, joint: fixed, mass: 1, inertia: [1, 1, 1], inertia_axes: {quaternion: [0, 0, 0, 1]}}
  - {name: e, parent: trunk, joint: {kind: universal}, mass: 1, inertia: [0.1, 0.1, 0.1]}
  - {name: f, parent: e, joint: {kind: cylindrical, axis: [0, 0, 1], lower: [-1, -.inf], upper: [1, .inf]}, mass: 1,
     inertia: [0.1, 0.1, 0.1]}
frames:
  - {name: tool, body: d, placement: {position: [1, 2, 3], rotation: [[0, -1, 0], [1, 0, 0], [0, 0, 1]]}}
"""

YAML_LOOP = b"""kinetree: 1
name: linkage
base: ground
bodies:
  - &rod {name: crank, parent: ground, joint: {name: a, kind: revolute}, mass: 1, com: [0.1, 0, 0], inertia: [0.1, 0.1, 0.1]}
  - {name: coupler, parent: crank, joint: {name: b, kind: revolute, actuated: false}, placement: {position: [0.2, 0, 0]}, mass: 1,
     com: [0.2, 0, 0], inertia: [0.1, 0.1, 0.1]}
  - {name: rocker, parent: ground, joint: {name: c, kind: revolute, actuated: false}, placement: {position: [0.3, 0, 0]}, mass: 1,
     com: [0.1, 0, 0], inertia: [0.1, 0.1, 0.1]}
loops:
  - {name: pin, kind: revolute, predecessor: coupler, successor: rocker, placement: {position: [0.4, 0, 0]},
     seat: {position: [0.3, 0, 0]}, lower: -3}
cuts: [pin]
"""

MJCF_ARM = b"""<mujoco model="arm">
  <compiler angle="degree" autolimits="true"/>
  <option timestep="0.002" gravity="0 0 -9.81"><flag gravity="enable"/></option>
  <size memory="1M" nuser_body="1" nkey="2"/>
  <default><joint damping="0.1" armature="0.01"/><default class="small"><geom size="0.02" type="sphere"/></default></default>
  <asset><texture name="grid" type="2d" builtin="checker" width="16" height="16"/><material name="m" texture="grid"/>
    <hfield name="hill" nrow="4" ncol="4" size="1 1 1 0.1"/></asset>
  <worldbody>
    <light pos="0 0 2"/>
    <geom type="plane" size="1 1 0.1" material="m"/>
    <body name="upper" pos="0 0 1" user="3">
      <joint name="shoulder" type="hinge" axis="0 1 0" range="-90 90" ref="10"/>
      <geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.03" mass="1"/>
      <body name="lower" pos="0.3 0 0" euler="0 10 0">
        <joint name="elbow" axis="0 1 0"/>
        <joint name="slide" type="slide" axis="1 0 0" range="0 0.1" stiffness="10"/>
        <inertial pos="0.1 0 0" mass="1" diaginertia="0.01 0.01 0.01"/>
        <site name="tip" pos="0.3 0 0"/>
        <body name="ball" pos="0.3 0 0"><joint name="wrist" type="ball"/><geom class="small" density="500"/></body>
      </body>
    </body>
    <body name="free" pos="1 0 1"><freejoint name="root"/><geom type="box" size="0.1 0.1 0.1"/></body>
  </worldbody>
  <tendon><fixed name="t"><joint joint="elbow" coef="1"/></fixed></tendon>
  <equality><joint joint1="slide" joint2="elbow" polycoef="0 0.1 0 0 0"/>
    <connect name="pin" body1="free" body2="ball" anchor="0 0 0" active="false"/></equality>
  <actuator><motor name="m1" joint="shoulder" gear="20" ctrlrange="-1 1"/><position joint="elbow" kp="10"/></actuator>
  <keyframe><key name="home" qpos="0 0 0 1 0 0 0 0 0 1 1 0 0 0"/></keyframe>
</mujoco>
"""

MJCF_LOOP = b"""<mujoco><worldbody>
  <body name="a"><joint name="ja" axis="0 0 1"/><geom size="0.1"/>
    <body name="b" pos="0.2 0 0"><joint name="jb" axis="0 0 1"/><geom size="0.1"/></body></body>
  <body name="c" pos="0.3 0 0"><joint name="jc" axis="0 0 1"/><geom size="0.1"/></body>
  <replicate count="3" offset="0 0 1"><body name="r"><joint/><geom size="0.1"/></body></replicate>
</worldbody><equality><connect body1="b" body2="c" anchor="0.4 0 0"/><weld body1="a" body2="c" active="false"/></equality></mujoco>
"""

REDYSIM = b"""function [type dof n bt alp a b dx dy dz m g Icxx Icyy Iczz Icxy Icyz Iczx aj] = inputs()
% two links and a slide
type = 0; n = 3; dof = n;
bt = [0, 1, 2]; n_j = ones(1, n); r = [1 1 0];
al = [0.10, 0.05, 0.2]; alp = [0, pi/2, 0]; a = [0, 0.10, 0.05]; b = [0; 0; 0.1];
dx = al/2; dy = zeros(1, n); dz = zeros(1, n);
m = [0.4, 0.2, 2*0.1];
Icxx = zeros(n, 1); Icyy = (1/12)*m.*al.^2; Iczz = zeros(n, 1);
Icxy = zeros(n, 1); Icyz = zeros(n, 1); Iczx = zeros(n, 1);
Iczz(1) = (1/12)*m(1)*al(1)*al(1); Iczz(2) = 1e-4; Iczz(3) = 1e-4;
for i = 1:n
    th(i) = sin(i);
end
g = [0 ; -9.81; 0]; aj = [1, 1, 0]';
"""

LOOP_LIST = b"""closed_loop: [[coupler, rocker]]
type: [3d]
name_mot: [a]
joint_name: [b]
joint_type: [SPHERICAL]
"""

STUDY = b"""kinetree-study: 1
name: fuzzed
title: A study of a small arm
robot: {file: arm.urdf, gravity: [0, 0, -9.81], floating_base: false, mimic: follow}
start: {q: {shoulder: 0.1}, v: {elbow: 0.1}}
motion: {kind: quintic, to: {shoulder: 0.5}, duration: 0.1}
controller: {kind: computed-torque, kp: 100, kd: [20, 20]}
stops: true
simulation: {time: 0.1, integrator: rk4, step: 0.01, samples: 5, friction: true}
outputs: {samples: 7, plots: [motion, energy]}
expect: {energy_error: 1.0e-3, within_limits: true}
"""


def small_robot() -> kt.Robot:
    """Return what tables and records are about: a quaternion joint, a hinge and a slide."""
    b = kt.Builder("small")
    b.body("ball", "base", kt.Spherical(), joint_name="ball", mass=1, inertia=(0.1, 0.1, 0.1))
    b.body("arm", "ball", kt.Revolute("y"), joint_name="hinge", mass=1, com=(0.1, 0, 0), position=(0.2, 0, 0))
    b.body("tip", "arm", kt.Prismatic("x"), joint_name="slide", mass=1, position=(0.2, 0, 0))
    return b.build()


def motion_columns(robot: kt.Robot, rows: int = 12) -> dict[str, np.ndarray]:
    """Return a table of states by column."""
    rng = np.random.default_rng(0)
    q, (v, a) = robot.random_configuration(rng, rows), rng.standard_normal((2, rows, robot.nv))
    columns = {"time": np.linspace(0.0, 1.0, rows)}
    for key, names, values in (("q", robot.q_names, q), ("v", robot.v_names, v), ("a", robot.v_names, a)):
        columns |= {f"{key}_{name}": values[:, k] for k, name in enumerate(names)}
    return columns


def motions(robot: kt.Robot) -> dict[str, bytes]:
    """Return the same table in every format."""
    import pyarrow
    import pyarrow.parquet

    columns = motion_columns(robot)
    table = np.column_stack(list(columns.values()))
    lines = [",".join(columns), *(",".join(map(repr, row.tolist())) for row in table)]
    degrees = [name.replace("hinge", "hinge [deg]") if name.startswith("q_h") else name for name in columns]
    arrays = {key: np.column_stack([x for name, x in columns.items() if name.startswith(f"{key}_")]) for key in "qva"}
    packed, stream, matlab = io.BytesIO(), io.BytesIO(), io.BytesIO()
    np.savez(packed, time=columns["time"], **arrays)
    savemat(matlab, {"log": {"t": columns["time"], **arrays}})
    pyarrow.parquet.write_table(pyarrow.table(columns), stream)
    motion = "\n".join([*lines, ""])
    return {
        "measured.csv": _measured(robot, columns).encode(),
        "motion.csv": motion.encode(),
        "plain.csv": "\n".join([*lines[1:], ""]).encode(),
        "degrees.csv": "\n".join([";".join(degrees), *(line.replace(",", ";") for line in lines[1:]), ""]).encode(),
        "europe.csv": "\n".join(
            ["; ".join(columns), *(x.replace(",", ";").replace(".", ",") for x in lines[1:])]
        ).encode(),
        "spaces.csv": "\n".join(["# " + " ".join(columns), *(line.replace(",", "  ") for line in lines[1:])]).encode(),
        "motion.mat": matlab.getvalue(),
        "motion.npz": packed.getvalue(),
        "motion.parquet": stream.getvalue(),
    }


def _measured(robot: kt.Robot, columns: dict[str, np.ndarray]) -> str:
    """Return what a robot may have been measured at: more rows, forces, no accelerations."""
    time = np.linspace(0.0, 1.0, 60)
    swings = {n: np.sin((k + 1) * time) for k, n in enumerate(columns) if n.startswith(("q_", "v_"))}
    forces = {f"tau_{name}": np.cos(time) for name in robot.v_names}
    table = {"time": time} | swings | forces
    rows = np.column_stack(list(table.values())).tolist()
    return "\n".join([",".join(table), *(",".join(f"{x:.6g}" for x in row) for row in rows), ""])


def records(robot: kt.Robot, folder: Path) -> dict[str, bytes]:
    """Return a record in every format."""
    event = kt.Event(lambda t, q, v: q[4] - 0.05, name="crossing")
    record = kt.simulate(robot, v0=[0.1, 0.2, 0.3, 1.0, 0.1], time=0.1, samples=7, events=event)
    made = {}
    for ending in ("npz", "csv", "parquet"):
        record.save(folder / f"record.{ending}")
        made[f"record.{ending}"] = (folder / f"record.{ending}").read_bytes()
    return made


def plain_arrays(data: bytes) -> dict[str, np.ndarray]:
    """Return the arrays of a file that NumPy wrote, the description as text included."""
    with np.load(io.BytesIO(data), allow_pickle=False) as file:
        return dict(file)


def about(arrays: dict[str, np.ndarray]) -> dict:
    """Return the description of a record."""
    return json.loads(str(arrays["about"]))
