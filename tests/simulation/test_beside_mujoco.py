"""Motion of loops under servos beside MuJoCo's, whose constraints are soft: as these are stiffened it becomes ours."""

import numpy as np
import pytest

import kinetree as kt

FOUR_BAR = """
<mujoco>
  <compiler angle="radian"/>
  <option timestep="1e-4" integrator="implicitfast"/>
  <worldbody>
    <body name="crank"><joint name="motor" axis="0 1 0" damping="0.2"/>
      <inertial pos="0.1 0 0" mass="0.5" diaginertia="0.001 0.002 0.002"/>
      <body name="rod" pos="0.2 0 0"><joint name="rod" axis="0 1 0" damping="0.05" stiffness="4" springref="0.5"/>
        <inertial pos="0.1 0 -0.15" mass="0.3" diaginertia="0.001 0.006 0.006"/></body></body>
    <body name="rocker" pos="0.5 0 0"><joint name="rocker" axis="0 1 0" damping="0.1"/>
      <inertial pos="0 0 -0.2" mass="1.0" diaginertia="0.01 0.012 0.002"/></body>
  </worldbody>
  <equality>
    <connect body1="rod" body2="rocker" anchor="0.25 0 -0.3" solref="{} 1" solimp="0.9 0.9 0.001"/>
  </equality>
  <actuator><position joint="motor" kp="30" kv="2"/></actuator>
</mujoco>
"""


def test_stiffer_constraints_of_mujoco_move_as_ours(tmp_path):
    mujoco = pytest.importorskip("mujoco")
    path = tmp_path / "four-bar.xml"
    path.write_text(FOUR_BAR.format(0.02))
    robot = kt.load(path).with_backend("compiled")
    servo = kt.control.Actuators([0.6])
    ours = kt.simulate(robot, [0.0, 0.0, 0.0], time=0.3, controller=servo, samples=2, progress=False)
    assert robot.closure_error(ours.q[-1]) < 1e-12
    assert abs(ours.q[-1][0]) > 0.3  # it moves
    errors, gaps = [], []
    for stiff in (0.02, 0.005, 0.00125):
        model = mujoco.MjModel.from_xml_string(FOUR_BAR.format(stiff))
        data = mujoco.MjData(model)
        data.ctrl[:] = 0.6
        mujoco.mj_step(model, data, 3000)
        errors.append(np.abs(data.qpos - ours.q[-1]).max())
        gaps.append(np.abs(data.efc_pos[:3]).max())
    assert errors[2] < 1e-3
    assert errors[2] < 0.5 * errors[1] < 0.5 * errors[0], errors
    assert gaps[2] < gaps[1] < gaps[0], gaps
