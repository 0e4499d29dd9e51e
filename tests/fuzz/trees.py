"""Damage to documents that stays good XML or YAML: values, names, elements lost, doubled, moved and nested."""

from __future__ import annotations

import copy
import xml.etree.ElementTree as ET
from collections.abc import Callable
from typing import Any

import numpy as np
import yaml

from .mutation import ODD_NUMBERS, ODD_WORDS, pick

NAMESPACE = "urn:kinetree"
FACTORS = (-1.0, 0.5, 2.0, 10.0, 1e3, 1e-3, 1e6, 1e-9, 0.0, 1e200)


def changed_xml(data: bytes, rng: np.random.Generator) -> bytes:
    """Return another document of the same kind."""
    ET.register_namespace("kinetree", NAMESPACE)
    root = ET.fromstring(data)
    for _ in range(int(rng.choice([1, 1, 2, 3]))):
        _change_element(root, rng)
    return ET.tostring(root, encoding="utf-8")


def _change_element(root: ET.Element, rng: np.random.Generator) -> None:
    parents = [(parent, child) for parent in root.iter() for child in parent]
    described = [element for element in root.iter() if element.attrib]
    how = int(rng.integers(10))
    if (how < 6 and described) or not parents:
        _change_attribute(pick(rng, described), described, rng)
        return
    parent, child = pick(rng, parents)
    if how == 6:
        parent.remove(child)
    elif how == 7:
        copies = (
            int(rng.integers(1, 20)) if len(list(child.iter())) < 30 else 1
        )  # a copy may land in what is copied next
        for twin in [copy.deepcopy(child) for _ in range(copies)]:
            pick(rng, parents)[0].append(twin)
    elif how == 8:
        child.tag = pick(rng, parents)[1].tag
    else:
        parent.remove(child)
        inner = child
        for _ in range(pick(rng, (1, 3, 100))):
            outer = ET.Element(child.tag, child.attrib)
            outer.append(inner)
            inner = outer
        parent.append(inner)


def _change_attribute(element: ET.Element, others: list[ET.Element], rng: np.random.Generator) -> None:
    key = pick(rng, sorted(element.attrib))
    how = int(rng.integers(7))
    if how == 0:
        del element.attrib[key]
    elif how == 1:
        other = pick(rng, others)
        element.attrib[key] = other.attrib[pick(rng, sorted(other.attrib))] if other.attrib else ""
    elif how == 2:
        element.attrib[pick(rng, sorted(pick(rng, others).attrib) or ["name"])] = element.attrib[key]
    elif how == 3:
        element.attrib[key] = _xml_text(pick(rng, ODD_WORDS))
    else:
        element.attrib[key] = _other_numbers(element.attrib[key], rng)


def _xml_text(word: str) -> str:
    """Leave out what XML cannot say at all."""
    return "".join(c for c in word if c in "\t\n\r" or c >= " ")


def _other_numbers(text: str, rng: np.random.Generator) -> str:
    """Change one of several words: another number as a rule, sometimes one too few or too many."""
    words = text.split() or [""]
    k = int(rng.integers(len(words)))
    how = int(rng.integers(8))
    if how == 0:
        del words[k]
    elif how == 1:
        words.insert(k, words[k])
    elif how < 5:
        words[k] = _scaled(words[k], rng)
    else:
        words[k] = pick(rng, ODD_NUMBERS)
    return " ".join(words)


def _scaled(word: str, rng: np.random.Generator) -> str:
    try:
        return f"{float(word) * pick(rng, FACTORS):.6g}"
    except ValueError:
        return word + pick(rng, ("", "_", " ", "2"))


# ------------------------------------------------------------------ YAML


def changed_yaml(data: bytes, rng: np.random.Generator) -> bytes:
    """Return another document of the same kind."""
    document = yaml.safe_load(data)
    for _ in range(int(rng.choice([1, 1, 2, 3]))):
        places: list[tuple[Any, Any]] = []
        _walk(document, places.append)
        if places:
            _change_place(*pick(rng, places), places, rng)
    return yaml.dump(
        document,
        Dumper=getattr(yaml, "CSafeDumper", yaml.SafeDumper),
        allow_unicode=True,
        default_flow_style=pick(rng, (None, True, False)),
    ).encode()


def _walk(node: Any, found: Callable[[tuple[Any, Any]], None]) -> None:
    for key in list(node) if isinstance(node, dict) else range(len(node)):
        found((node, key))
        if isinstance(node[key], (dict, list)):
            _walk(node[key], found)


def _change_place(node: Any, key: Any, places: list[tuple[Any, Any]], rng: np.random.Generator) -> None:
    value = node[key]
    how = int(rng.integers(9))
    if how == 0:
        del node[key]
    elif how == 1:
        other, place = pick(rng, places)
        node[key] = copy.deepcopy(other[place]) if place in other or isinstance(other, list) else None
    elif how == 2 and isinstance(node, list):
        node += [copy.deepcopy(value)] * int(rng.integers(1, 20))
    elif how == 3 and isinstance(node, dict):
        node[pick(rng, [str(place) for _, place in places])] = node.pop(key)
    elif how == 4:
        node[key] = pick(rng, (None, [], {}, [value], {"a": value}, True, "x", [[value]], 0, "1"))
    elif how == 5:
        node[key] = "".join(c for c in pick(rng, ODD_WORDS) if c.isprintable() or c in "\n\t")
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        odd = (0, -1, 1e308, float("nan"), float("inf"), -float("inf"), 10**30, 5e-324, 1e16)
        node[key] = value * pick(rng, FACTORS) if how < 8 else pick(rng, odd)
