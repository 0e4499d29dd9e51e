"""``modelDescription.xml`` of an FMU, after FMI 2.0 and FMI 3.0."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from xml.etree import ElementTree as Xml

from ...version import VERSION
from .variables import HIDDEN, INDEPENDENT, INPUT, OUTPUT, PARAMETER, FmuVariable

UNITS: Mapping[str, Mapping[str, int]] = {
    "rad": {"rad": 1}, "m": {"m": 1}, "rad/s": {"rad": 1, "s": -1}, "m/s": {"m": 1, "s": -1},
    "rad/s2": {"rad": 1, "s": -2}, "m/s2": {"m": 1, "s": -2}, "1/s": {"s": -1}, "1/s2": {"s": -2},
    "N.m": {"kg": 1, "m": 2, "s": -2}, "N": {"kg": 1, "m": 1, "s": -2}, "J": {"kg": 1, "m": 2, "s": -2}, "s": {"s": 1},
}  # fmt: skip
"""Exponents of SI units in each unit of a variable."""

MODEL_EXCHANGE, CO_SIMULATION = "model-exchange", "co-simulation"


def description(
    version: str, name: str, identifier: str, identity: str, variables: Sequence[FmuVariable], kinds: Sequence[str],
    step: float, stop: float, summary: str, switches: int,
) -> bytes:  # fmt: skip
    """Return the description of an FMU.

    Parameters
    ----------
    version : {"2.0", "3.0"}
    name, identifier : str
        Name of the model, and the same as a name in C: that of the binary.
    identity : str
        What binary and description have in common.
    variables : sequence of FmuVariable
        In the order of their references, the time first.
    kinds : sequence of str
        :data:`MODEL_EXCHANGE`, :data:`CO_SIMULATION` or both.
    step, stop : float
        Seconds of an internal step, and of a typical simulation.
    summary : str
    switches : int
        How many of the last variables are event indicators.
    """
    two = version == "2.0"
    facts = {
        "fmiVersion": version, "modelName": name, "guid" if two else "instantiationToken": identity,
        "description": summary, "generationTool": f"kinetree {VERSION}", "variableNamingConvention": "flat",
    }  # fmt: skip
    root = Xml.Element("fmiModelDescription", facts)
    if two:
        root.set("numberOfEventIndicators", str(switches))
    for kind in kinds:
        _add_interface(root, kind, identifier, step, two)
    _add_units(root, variables)
    Xml.SubElement(root, "DefaultExperiment", startTime="0.0", stopTime=repr(stop), stepSize=repr(step))
    listed = Xml.SubElement(root, "ModelVariables")
    for reference, variable in enumerate(variables):
        if variable.role != HIDDEN:
            (_add_variable_2 if two else _add_variable_3)(listed, reference, variable)
    structure = Xml.SubElement(root, "ModelStructure")
    if two:
        _add_structure_2(structure, variables)
    else:
        _add_structure_3(structure, variables)
        for k in range(len(variables) - switches, len(variables)):
            Xml.SubElement(structure, "EventIndicator", valueReference=str(k))
    Xml.indent(root)
    return b'<?xml version="1.0" encoding="UTF-8"?>\n' + Xml.tostring(root, encoding="utf-8") + b"\n"


def _add_interface(root: Xml.Element, kind: str, identifier: str, step: float, two: bool) -> None:
    state = "state" if two else "State"
    more: dict[str, str] = {f"canGetAndSetFMU{state}": "true", f"canSerializeFMU{state}": "true"}
    if kind == CO_SIMULATION:
        more["canHandleVariableCommunicationStepSize"] = "true"
        if not two:
            more["fixedInternalStepSize"] = repr(step)
    tag = "CoSimulation" if kind == CO_SIMULATION else "ModelExchange"
    Xml.SubElement(root, tag, {"modelIdentifier": identifier, **more})


def _add_units(root: Xml.Element, variables: Sequence[FmuVariable]) -> None:
    used = dict.fromkeys(v.unit for v in variables if v.unit in UNITS)
    if used:
        listed = Xml.SubElement(root, "UnitDefinitions")
        for unit in used:
            of_unit = Xml.SubElement(listed, "Unit", name=unit)
            Xml.SubElement(of_unit, "BaseUnit", {base: str(n) for base, n in UNITS[unit].items()})


def _facts(variable: FmuVariable) -> dict[str, str]:
    """Return role, variability and whether the start is given, by their names in FMI."""
    if variable.role == INPUT:
        return {"causality": "input", "variability": "continuous"}
    if variable.role == PARAMETER:
        return {"causality": "parameter", "variability": "tunable", "initial": "exact"}
    if variable.role == OUTPUT:
        first = "exact" if variable.is_state else "calculated"
        return {"causality": "output", "variability": "continuous", "initial": first}
    if variable.role == INDEPENDENT:
        return {"causality": "independent", "variability": "continuous"}
    return {"causality": "local", "variability": "continuous", "initial": "calculated"}


def _value(variable: FmuVariable) -> dict[str, str]:
    found: dict[str, Any] = {"unit": variable.unit} if variable.unit in UNITS else {}
    if variable.start is not None:
        found["start"] = repr(variable.start)
    return found


def _named(reference: int, variable: FmuVariable) -> dict[str, str]:
    facts = {"name": variable.name, "valueReference": str(reference), "description": variable.description}
    return facts | _facts(variable)


def _add_variable_2(listed: Xml.Element, reference: int, variable: FmuVariable) -> None:
    row = Xml.SubElement(listed, "ScalarVariable", _named(reference, variable))
    value = _value(variable)
    if variable.derivative_of is not None:
        value["derivative"] = str(variable.derivative_of + 1)  # the place of a state: counted from 1, behind the time
    Xml.SubElement(row, "Real", value)


def _add_variable_3(listed: Xml.Element, reference: int, variable: FmuVariable) -> None:
    value = _value(variable)
    if variable.derivative_of is not None:
        value["derivative"] = str(variable.derivative_of)
    Xml.SubElement(listed, "Float64", _named(reference, variable) | value)


def _chosen(variables: Sequence[FmuVariable]) -> tuple[list[int], list[int], list[int]]:
    """Return the references of outputs, of rates, and of what is computed before the first step."""
    outputs = [k for k, v in enumerate(variables) if v.role == OUTPUT]
    rates = [k for k, v in enumerate(variables) if v.derivative_of is not None]
    first = [k for k, v in enumerate(variables) if v.derivative_of is not None or (v.role == OUTPUT and not v.is_state)]
    return outputs, rates, first


def _add_structure_2(structure: Xml.Element, variables: Sequence[FmuVariable]) -> None:
    for tag, references in zip(("Outputs", "Derivatives", "InitialUnknowns"), _chosen(variables), strict=True):
        if references:
            listed = Xml.SubElement(structure, tag)
            for k in references:
                hidden = sum(v.role == HIDDEN for v in variables[:k])
                Xml.SubElement(listed, "Unknown", index=str(k + 1 - hidden))  # of those that are listed, from 1


def _add_structure_3(structure: Xml.Element, variables: Sequence[FmuVariable]) -> None:
    for tag, references in zip(
        ("Output", "ContinuousStateDerivative", "InitialUnknown"), _chosen(variables), strict=True
    ):
        for k in references:
            Xml.SubElement(structure, tag, valueReference=str(k))
