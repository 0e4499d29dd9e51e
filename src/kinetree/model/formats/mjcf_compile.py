"""Compiling an MJCF file with MuJoCo, even if its mesh files are missing.

Dynamics needs masses and inertias.  A file that gives them needs its meshes only for pictures and contact, and robots
are often shared without meshes; so shapes whose files are missing are removed before MuJoCo compiles. Bodies whose
inertia would have been computed from these shapes then have none, and are listed.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

from ...errors import FileFormatError, Message, Setting, UnsupportedError
from .source import Source


class Compiled(NamedTuple):
    """A compiled model, and the files that were missing."""

    model: Any
    missing: list[str]
    weightless: list[tuple[str, str, bool]]
    """Bodies whose inertia would come from missing files: name, file, whether the body is welded to the world."""


def refusal(weightless: list[tuple[str, str, bool]], file: str) -> FileFormatError:
    """Return the error about bodies whose inertia would come from missing files."""
    listed = ", ".join(dict.fromkeys(f"{name!r} ({mesh})" for name, mesh, _ in weightless[:4]))
    return FileFormatError(
        Message(
            f"mesh files are missing, and the inertia of bodies {listed}{', ...' if len(weightless) > 4 else ''} would "
            "be computed from them: put the files where the model looks for them, give the bodies <inertial> elements, "
            "or have them without any mass, ",
            Setting("missing_meshes", "massless"),
        ),
        file,
    )


def import_mujoco(file: str) -> Any:
    """Import MuJoCo, or raise an error that says how to install it."""
    try:
        import mujoco
    except ImportError:
        raise UnsupportedError(f"{file}: reading MJCF needs the package 'mujoco': pip install kinetree[mjcf]") from None
    return mujoco


def compiled(mujoco: Any, source: Source) -> Compiled:
    """Compile a file, without shapes whose files are missing."""
    try:
        return Compiled(mujoco.MjModel.from_xml_path(str(source.path)), [], [])
    except ValueError as problem:
        if "opening file" not in str(problem) or not hasattr(mujoco, "MjSpec"):
            raise _refusal(problem, source) from None
    try:
        return _without_missing_files(mujoco, source)
    except ValueError as problem:
        raise _refusal(problem, source) from None


def _refusal(problem: ValueError, source: Source) -> FileFormatError:
    if isinstance(problem, FileFormatError):
        return problem
    message = " ".join(str(problem).split())
    line = re.search(r"line (\d+)", message)
    return FileFormatError(f"MuJoCo cannot compile it: {message}", source.file, int(line[1]) if line else None)


def _without_missing_files(mujoco: Any, source: Source) -> Compiled:
    spec = mujoco.MjSpec.from_file(str(source.path))
    there = _finder(spec, source.path.parent)
    meshes = {mesh.name or Path(mesh.file).stem: mesh for mesh in spec.meshes if mesh.file}
    lost = {name: mesh.file for name, mesh in meshes.items() if not there(mesh.file, spec.meshdir)}
    gone = [geom for geom in spec.geoms if geom.meshname in lost]
    needed = [geom for geom in gone if _gives_inertia(mujoco, spec, geom)]
    weightless = [(geom.parent.name, lost[geom.meshname], _is_welded(geom.parent)) for geom in needed]
    missing = list(lost.values())
    names = {geom.name for geom in gone if geom.name}
    for pair in list(spec.pairs):
        if pair.geomname1 in names or pair.geomname2 in names:
            spec.delete(pair)
    for geom in gone:
        spec.delete(geom)
    for name in lost:
        spec.delete(meshes[name])
    for texture in spec.textures:
        if texture.file and not there(texture.file, spec.texturedir):
            missing.append(texture.file)
            # a texture of one pixel, so that materials still find it
            texture.file, texture.builtin, texture.width, texture.height = "", mujoco.mjtBuiltin.mjBUILTIN_FLAT, 1, 1
    try:
        return Compiled(spec.compile(), missing, list(dict.fromkeys(weightless)))
    except ValueError:  # MuJoCo refuses moving bodies without mass
        if weightless:
            raise refusal(weightless, source.file) from None
        raise


def _is_welded(body: Any) -> bool:
    """Return whether there is no joint between a body and the world, so that its inertia does not matter."""
    while body.name != "world":
        if len(body.joints):
            return False
        body = body.parent
    return True


def _finder(spec: Any, directory: Path) -> Any:
    """Return a function that checks whether MuJoCo would find a file of the model."""

    def there(file: str, subdirectory: str) -> bool:
        name = Path(file).name if spec.strippath else file
        return (directory / (subdirectory or "") / name).is_file()

    return there


def _gives_inertia(mujoco: Any, spec: Any, geom: Any) -> bool:
    """Return whether a body would get mass from a shape; NaN stands for a mass that is not given."""
    rule, rules = spec.compiler.inertiafromgeom, mujoco.mjtInertiaFromGeom
    if geom.parent.name == "world" or rule == rules.mjINERTIAFROMGEOM_FALSE:
        return False
    if rule == rules.mjINERTIAFROMGEOM_AUTO and geom.parent.explicitinertial:
        return False
    low, high = spec.compiler.inertiagrouprange
    return bool(low <= geom.group <= high and geom.mass != 0.0 and (geom.mass == geom.mass or geom.density != 0.0))
