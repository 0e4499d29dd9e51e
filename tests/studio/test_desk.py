"""The studio's server: who is answered, what it opens and takes away, and that it stays in its folder."""

import base64
import http.client
import io
import json
import zipfile

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import KinetreeError
from kinetree.model.formats.yaml_shapes import SHAPE_KEYS
from kinetree_studio.desk import opening
from kinetree_studio.desk.fields import fields
from kinetree_studio.view.page import unpacked
from kinetree_studio.view.server import TOKEN


@pytest.fixture
def studio(tmp_path):
    with kt.studio("four-bar", folder=tmp_path, port=0) as made:
        yield made


def asked(studio, path, method="GET", body=None, **headers):
    connection = http.client.HTTPConnection("127.0.0.1", studio.server.port, timeout=10)
    content = {"Content-Type": "application/json"} if method == "POST" else {}
    connection.request(method, path, body, {**content, **headers})
    answer = connection.getresponse()
    return answer.status, answer.read().decode(), answer.headers


def test_only_who_knows_the_whole_address_is_answered(studio):
    token = studio.url.partition("token=")[2]
    assert len(token) >= 32
    assert studio.server.host == "127.0.0.1"
    said = json.dumps({"do": "begin"})
    for wrong in ("", "wrong", token[:-1]):
        assert asked(studio, f"/?token={wrong}")[0] == 403
        status, answer, _ = asked(studio, "/do", "POST", said, **{TOKEN: wrong})
        assert status == 403
        assert token not in answer
    assert asked(studio, "/do", "POST", said)[0] == 403
    status, answer, _ = asked(studio, "/do", "POST", said, **{TOKEN: token})
    assert status == 200
    assert json.loads(answer)["desk"]["name"] == "four-bar"
    status, answer, headers = asked(studio, f"/?token={token}")
    assert status == 200
    assert token not in answer
    assert headers["Referrer-Policy"] == "no-referrer"
    assert "default-src &#x27;none&#x27;" in answer
    assert "connect-src &#x27;self&#x27;" in answer
    # pages of others, and addresses that others made to point here, are refused before that
    for foreign in ({"Origin": "http://evil.example"}, {"Host": "evil.example"}):
        status, answer, _ = asked(studio, "/do", "POST", said, **{TOKEN: token}, **foreign)
        assert status == 403
        assert token not in answer


def test_two_studios_have_different_addresses(studio, tmp_path):
    with kt.studio(folder=tmp_path, port=0) as other:
        assert other.url.partition("token=")[2] != studio.url.partition("token=")[2]
        assert other.heard({"do": "begin"})["desk"] is None


@pytest.mark.parametrize(
    "name", ["../secret.yaml", "/etc/passwd", "a/../../b.yaml", "", ".", "link/secret.yaml", "x\0.yaml"]
)
def test_no_file_outside_the_folder_is_read_or_written(studio, tmp_path, name):
    (tmp_path.parent / "outside").mkdir(exist_ok=True)
    (tmp_path / "link").symlink_to(tmp_path.parent / "outside")
    with pytest.raises(KinetreeError, match="only"):
        studio.heard({"do": "open", "file": name})
    if name:
        with pytest.raises(KinetreeError, match="only"):
            studio.heard({"do": "save", "file": name})


def test_an_edit_is_answered_with_the_changed_robot_and_a_mistake_with_the_reason(studio):
    told = studio.heard({"do": "edit", "edit": {"do": "set", "at": ["bodies", "crank", "mass"], "to": "2 kg"}})
    assert told["content"]["bodies"][0]["mass"] == "2 kg"
    assert told["undo"] == "crank: mass = 2 kg"
    assert told["masses"]["crank"] == 2
    show = unpacked(told["robot"])
    assert [s["value"] for s in show["compute"]["sliders"] if s["name"] == "mass of crank"] == [2]
    with pytest.raises(KinetreeError, match="must be a number"):
        studio.heard({"do": "edit", "edit": {"do": "set", "at": ["bodies", "crank", "mass"], "to": "heavy"}})
    assert studio.heard({"do": "undo"})["said"] == "Undone: crank: mass = 2 kg"
    assert studio.heard({"do": "undo"})["said"] == ""
    assert studio.heard({"do": "redo"})["content"]["bodies"][0]["mass"] == "2 kg"


def test_an_edit_of_numbers_brings_no_code_and_one_of_structure_brings_it_when_it_is_made(studio, monkeypatch):
    name = unpacked(studio.heard({"do": "begin"})["desk"]["robot"])["compute"]["laws"]
    code = unpacked(studio.heard({"do": "laws", "name": name})["laws"])
    assert bytes(code["code"][:4]) == b"\0asm"
    heavier = {"do": "set", "at": ["bodies", "crank", "mass"], "to": "2 kg"}
    told = studio.heard({"do": "edit", "edit": heavier, "laws": [name]})
    assert "laws" not in told
    assert unpacked(told["robot"])["compute"]["laws"] == name

    # what takes long is shown first: bodies are where they belong, and the code is asked for
    monkeypatch.setattr("kinetree_studio.desk.desk.AT_ONCE", 0.0)
    pose = {"crank_joint": [0.4], "rocker_joint": [1.0], "coupler_joint": [-1.5]}
    rough = {"do": "set", "at": ["bodies", "rocker", "joint", "friction"], "to": 0.3}
    told = studio.heard({"do": "edit", "edit": rough, "laws": [name], "pose": pose})
    assert "laws" not in told
    show = unpacked(told["robot"])["compute"]
    robot = studio.document.robot
    seen = show["seen"]["q"]
    assert robot.closure_error(seen) < 1e-8
    for k, body in enumerate(robot.body_names):
        at = show["seen"]["kinematics"][7 * k : 7 * k + 3]
        assert np.allclose(at, robot.pose(seen, body)[:3, 3], atol=1e-12)
    assert show["laws"] != name
    assert "code" in unpacked(studio.heard({"do": "laws", "name": show["laws"]})["laws"])
    studio.heard({"do": "undo"})  # whose code is known
    assert "seen" not in unpacked(studio.heard({"do": "redo", "laws": [name, show["laws"]]})["robot"])["compute"]


def test_a_robot_that_cannot_be_computed_is_still_there_to_be_mended(studio):
    edit = {"do": "set", "at": ["loops", "crank_pin", "seat", "position"], "to": [9, 0, 0]}
    told = studio.heard({"do": "edit", "edit": edit})
    assert told["robot"] is None
    assert "clos" in told["problem"]
    assert told["content"]["loops"][0]["seat"]["position"][0] == "9"
    assert studio.heard({"do": "undo"})["robot"]


def test_numbers_of_sliders_are_kept(studio):
    told = studio.heard({"do": "numbers", "values": {"length of rocker": 0.13, "gravity": 1.62}})
    assert not told["problem"]
    robot = studio.document.robot
    assert np.allclose(robot.model.gravity, [0, -1.62, 0])
    assert np.allclose(robot.model.joint("coupler_joint").placement.position, [0.13, 0, 0])
    assert told["notes"] == ["The file is written anew, without its comments; undo brings that back."]
    studio.heard({"do": "open", "system": "wiper"})
    told = studio.heard({"do": "numbers", "values": {"mass of crank": 0.5}})
    assert told["notes"][-1].startswith("The file is written anew, without its comments and its drawing")
    assert studio.document.robot.body("crank").mass == 0.5


def test_all_systems_have_a_card_with_a_picture(studio):
    cards = opening.cards()
    assert [card["name"] for card in cards] == list(kt.gallery.names())
    assert {card["group"] for card in cards} >= {"Shah", "Khalil", "Others"}
    for name in ("four-bar", "stewart-platform", "hexapod"):
        drawn = opening.picture(name)
        flat = np.array([*np.reshape(drawn["lines"], (-1, 2)), *drawn["spots"]])
        assert flat.min() >= -1e-6
        assert flat.max() <= 1 + 1e-6
        assert abs(np.ptp(flat, axis=0).max() - 1) < 1e-3


def test_cards_have_all_fields_of_the_library():
    known = fields()
    joint = {field["at"][-1] for field in known["bodies"] if field["at"][0] == "joint"}
    assert set(kt.DHRow.__dataclass_fields__) >= set(known["rows"])
    assert joint >= {"kind", "actuated", "lower", "damping", "stiffness", "rotor_inertia", "stribeck"}
    assert known["kinds"]["prismatic"]["slides"]
    assert [p["name"] for p in known["kinds"]["helical"]["parameters"]]
    shapes = {field["at"][0] for field in known["shapes"]}
    assert shapes == (set(SHAPE_KEYS) - {"name"}) | {"radius", "length", "size", "radii", "file"}
    json.dumps(known, allow_nan=False)


def in_base64(content):
    return base64.b64encode(content).decode()


def test_dropped_files_are_opened(studio, tmp_path):
    kt.load("kuka-kr5").save(tmp_path / "arm.urdf")
    arm = (tmp_path / "arm.urdf").read_bytes()
    told = studio.heard({"do": "open", "dropped": {"arm.urdf": in_base64(arm)}})
    assert told["file"] == ""  # it is not saved over anything
    assert len(told["bodies"]) == 6
    kept = io.BytesIO()
    with zipfile.ZipFile(kept, "w") as archive:
        archive.writestr("robot/arm.urdf", arm)
        archive.writestr("robot/readme.txt", "an arm")
    assert len(studio.heard({"do": "open", "dropped": {"arm.zip": in_base64(kept.getvalue())}})["bodies"]) == 6
    with zipfile.ZipFile(kept, "w") as archive:
        archive.writestr("../arm.urdf", arm)
    for wrong in (
        {"arm.zip": in_base64(kept.getvalue())}, {"a.zip": in_base64(b"no zip")}, {"a.txt": in_base64(b"")},
        {"a.urdf": in_base64(arm), "b.urdf": in_base64(arm)}, {"a.urdf": "!"},
    ):  # fmt: skip
        with pytest.raises(KinetreeError):
            studio.heard({"do": "open", "dropped": wrong})
    assert len(studio.document.robot.body_names) == 6


PYRAMID = """solid pyramid
facet normal 0 0 0\nouter loop\nvertex 0 0 0\nvertex 0 1 0\nvertex 1 0 0\nendloop\nendfacet
facet normal 0 0 0\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 0 7\nendloop\nendfacet
facet normal 0 0 0\nouter loop\nvertex 0 0 0\nvertex 0 0 7\nvertex 0 1 0\nendloop\nendfacet
facet normal 0 0 0\nouter loop\nvertex 1 0 0\nvertex 0 1 0\nvertex 0 0 7\nendloop\nendfacet
endsolid
"""


def test_meshes_of_dropped_files_are_drawn_after_edits_too(studio):
    arm = """<robot name="arm"><link name="base"/><link name="upper"><inertial><mass value="1"/><inertia ixx="1" iyy="1"
      izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
      <visual><geometry><mesh filename="meshes/part.stl"/></geometry></visual></link>
      <joint name="j" type="continuous"><parent link="base"/><child link="upper"/><axis xyz="0 1 0"/></joint></robot>"""
    files = {"robot/arm.urdf": in_base64(arm.encode()), "robot/meshes/part.stl": in_base64(PYRAMID.encode())}

    def tallest(told):
        parts = unpacked(told["robot"])["robots"][0]["parts"]
        return max(part["vertices"].reshape(-1, 3)[:, 2].max() for part in parts if part["role"] == "link")

    told = studio.heard({"do": "open", "dropped": files})
    assert tallest(told) == 7
    place = studio.document.geometry
    edit = {"do": "set", "at": ["bodies", "upper", "mass"], "to": 2}
    assert tallest(studio.heard({"do": "edit", "edit": edit})) == 7
    assert place.exists()
    studio.heard({"do": "open", "system": "two-link"})
    assert not place.exists()  # it lasts as long as the robot is open


def test_shapes_and_actuators_are_added_changed_and_removed(studio):
    def do(**edit):
        return studio.heard({"do": "edit", "edit": edit})

    known = fields()
    for kind, sizes in known["solids"].items():
        do(do="add", section="shapes", item={"name": f"a {kind}", "body": "crank", "kind": kind, **sizes})
    assert len(studio.document.robot.shapes) == len(known["solids"])
    do(do="set", at=["shapes", "a box", "size"], to=["80 mm", 0.02, 0.01])
    do(do="set", at=["shapes", "a box", "friction"], to=0.4)
    do(do="rename", section="shapes", old="a box", new="bumper")
    box = next(own for own in studio.document.robot.shapes if own.name == "bumper")
    assert box.shape.size == (0.08, 0.02, 0.01)
    assert box.friction == 0.4
    do(do="add", section="shapes", item={"body": "rocker", "kind": "sphere", "radius": 0.01})  # without a name
    gone = do(do="remove", section="shapes", name=len(known["solids"]))["removed"]
    assert gone == ["one of the shapes"]
    parts = unpacked(do(do="remove", section="shapes", name="a plane")["robot"])["robots"][0]["parts"]
    assert any(part["role"] == "shape" for part in parts)
    do(do="add", section="actuators", item={"name": "drive", "joint": "crank_joint"})
    do(do="set", at=["actuators", "drive", "force_range"], to=[-2, 2])
    do(do="rename", section="actuators", old="drive", new="motor")
    assert studio.document.robot.model.actuators[0].force_range == (-2, 2)
    assert studio.document.robot.model.actuators[0].name == "motor"
    do(do="remove", section="bodies", name="crank")
    assert studio.document.robot.shapes == ()


def test_a_zip_that_unfolds_too_far_is_refused(studio, monkeypatch):
    monkeypatch.setattr(opening, "MOST_BYTES", 1000)
    kept = io.BytesIO()
    with zipfile.ZipFile(kept, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("robot.yaml", b"#" * 100_000)
    with pytest.raises(KinetreeError, match="holds more"):
        studio.heard({"do": "open", "dropped": {"a.zip": in_base64(kept.getvalue())}})


def test_it_is_saved_in_the_folder_and_taken_away(studio, tmp_path):
    assert studio.heard({"do": "save", "file": "mine.yaml"})["file"] == "mine.yaml"
    assert kt.load(tmp_path / "mine.yaml") == kt.load("four-bar")
    assert studio.heard({"do": "begin"})["files"] == ["mine.yaml"]
    for form, ending in (("yaml", ".yaml"), ("mjcf", ".xml"), ("python", ".py")):
        taken = studio.heard({"do": "take", "form": form})
        assert taken["name"] == f"mine{ending}"
        assert taken["text"]
    with pytest.raises(KinetreeError, match="URDF cannot express"):  # in the words of the library
        studio.heard({"do": "take", "form": "urdf"})
    with pytest.raises(KinetreeError, match="taken away as"):
        studio.heard({"do": "take", "form": "exe"})


def test_another_file_is_replaced_only_when_that_is_wanted(studio, tmp_path):
    (tmp_path / "other.yaml").write_text("mine")
    assert studio.heard({"do": "save", "file": "other.yaml"}) == {"exists": "other.yaml"}
    assert (tmp_path / "other.yaml").read_text() == "mine"
    studio.heard({"do": "save", "file": "other.yaml", "over": True})
    studio.heard({"do": "edit", "edit": {"do": "set", "at": ["name"], "to": "another"}})
    assert studio.heard({"do": "save", "file": "other.yaml"})["saved"]
    assert kt.load(tmp_path / "other.yaml").name == "another"


def test_new_robots_can_be_opened(studio):
    assert studio.heard({"do": "open", "blank": True})["robot"]
    table = {"convention": "modified", "rows": [{"mass": 1, "com": [0.5, 0, 0]}]}
    assert studio.heard({"do": "open", "text": f"kinetree: 1\nname: arm\ntable: {json.dumps(table)}\n"})["robot"]
    with pytest.raises(KinetreeError, match="paint"):
        studio.heard({"do": "paint"})


def test_a_folder_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(KinetreeError, match="no folder"):
        kt.studio(folder=tmp_path / "nowhere", port=0)
