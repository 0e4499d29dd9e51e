"""One crate with an arm, above a floor, in every file format that has collision shapes."""

import pytest

import kinetree as kt

MJCF = """
<mujoco model="crate">
  <worldbody>
    <geom type="plane" size="5 5 0.1" pos="0 0 0.1"/>
    <body name="crate" pos="0 0 1">
      <freejoint/>
      <geom type="box" size="0.1 0.15 0.2" mass="1"/>
      <geom type="sphere" size="0.05" pos="0 0 0.3" contype="0" conaffinity="0" mass="0"/>
      <body name="arm" pos="0.2 0 0" quat="0.707106781 0 0.707106781 0">
        <joint name="swing" axis="0 1 0" range="-30 30"/>
        <geom type="capsule" size="0.02 0.15" pos="0 0 0.15" mass="0.1"/>
        <geom type="sphere" size="0.03" pos="0 0 0.3" mass="0.1"/>
        BESIDE
      </body>
    </body>
  </worldbody>
</mujoco>
"""

INERTIA = '<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/>'

URDF = f"""
<robot name="crate">
  <link name="crate">
    <inertial><mass value="1"/>{INERTIA}</inertial>
    <collision><origin xyz="0 0 0"/><geometry><box size="0.2 0.3 0.4"/></geometry></collision>
  </link>
  <link name="arm">
    <inertial><mass value="0.2"/>{INERTIA}</inertial>
    <collision><origin xyz="0 0 0.15"/><geometry><capsule radius="0.02" length="0.3"/></geometry></collision>
    <collision><origin xyz="0 0 0.3"/><geometry><sphere radius="0.03"/></geometry></collision>
    BESIDE
  </link>
  <joint name="swing" type="revolute">
    <parent link="crate"/><child link="arm"/><origin xyz="0.2 0 0" rpy="0 1.5707963267948966 0"/>
    <axis xyz="0 1 0"/><limit lower="-0.5" upper="0.5" effort="10" velocity="10"/>
  </joint>
</robot>
"""

SDF_INERTIA = "<inertial><mass>1</mass><inertia><ixx>0.1</ixx><iyy>0.1</iyy><izz>0.1</izz></inertia></inertial>"

SDF = f"""
<sdf version="1.7"><world name="yard">
  <model name="floor"><static>true</static><link name="slab">{SDF_INERTIA}
    <collision name="c"><pose>0 0 0.1 0 0 0</pose><geometry><plane><normal>0 0 1</normal></plane></geometry></collision>
  </link></model>
  <model name="toy"><pose>0 0 1 0 0 0</pose>
    <link name="crate">{SDF_INERTIA}
      <collision name="c"><geometry><box><size>0.2 0.3 0.4</size></box></geometry></collision>
    </link>
    <link name="arm"><pose>0.2 0 0 0 1.5707963267948966 0</pose>{SDF_INERTIA}
      <collision name="c"><pose>0 0 0.15 0 0 0</pose>
        <geometry><capsule><radius>0.02</radius><length>0.3</length></capsule></geometry></collision>
      <collision name="d"><pose>0 0 0.3 0 0 0</pose>
        <geometry><sphere><radius>0.03</radius></sphere></geometry></collision>
      BESIDE
    </link>
    <joint name="swing" type="revolute"><parent>crate</parent><child>arm</child>
      <axis><xyz>0 1 0</xyz><limit><lower>-0.5</lower><upper>0.5</upper></limit></axis></joint>
  </model>
</world></sdf>
"""

CYLINDERS = {
    "mjcf": '<geom type="cylinder" size="0.03 0.1" mass="0.1"/>',
    "urdf": '<collision><geometry><cylinder radius="0.03" length="0.2"/></geometry></collision>',
    "sdf": '<collision name="e"><geometry><cylinder><radius>0.03</radius><length>0.2</length></cylinder></geometry>'
    "</collision>",
}
SUFFIX = {"mjcf": "xml", "urdf": "urdf", "sdf": "sdf"}
TEXT = {"mjcf": MJCF, "urdf": URDF, "sdf": SDF}


def loaded(tmp_path, kind, beside="", **options):
    """Write the file of a format, with something beside the shapes of the arm perhaps, and load it."""
    if kind == "mjcf":
        pytest.importorskip("mujoco")
    path = tmp_path / f"crate.{SUFFIX[kind]}"
    path.write_text(TEXT[kind].replace("BESIDE", beside))
    return kt.load(path, floating_base=True, **options) if kind == "urdf" else kt.load(path, **options)


def drawn(robot):
    """Return the configuration with the crate a meter up."""
    q = robot.neutral()
    q[robot.joint(robot.joint_names[0]).q_slice] = [0, 0, 0, 1, 0, 0, 1]
    return q
