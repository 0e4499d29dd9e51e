"""Write what joints have into the JSON schema of YAML files: ``python tools/schema.py``, after a change of the table.

The rest of ``kinetree.schema.json`` is written by hand; a test holds that it is what this file would write.
"""

from __future__ import annotations

import json
from pathlib import Path

from kinetree.model.joint_fields import FIELDS, JointField

FILE = Path(__file__).resolve().parent.parent / "src/kinetree/model/formats/kinetree.schema.json"
LONGEST = 120
OTHERS = [
    '        "actuated": {"type": "boolean", "description": "true if left out; false of loops."}',
    '        "mimic": {"$ref": "#/$defs/mimic"}',
]


def entry(row: JointField) -> str:
    """The property of one number, on one line if it is short enough."""
    kind = "per_freedom_not_negative" if row.nonnegative else "per_freedom"
    parts = {"$ref": f"#/$defs/{kind}", "description": f"{row.help} In {' or '.join(dict.fromkeys(row.units))}."}
    if row.units == ("1", "1"):
        parts["description"] = row.help
    line = f'        "{row.name}": {json.dumps(parts)}'
    if len(line) < LONGEST:
        return line
    inside = ",\n".join(f"          {json.dumps(key)}: {json.dumps(value)}" for key, value in parts.items())
    return f'        "{row.name}": {{\n{inside}\n        }}'


def rewritten(text: str) -> str:
    """The schema with what the table says now."""
    before, rest = text.split('    "limits": {\n')
    after = rest[rest.index('    "joint": {\n') :]
    limits = [entry(row) for row in FIELDS.values() if row.infinite]
    others = [entry(row) for row in FIELDS.values() if not row.infinite]
    own = (
        '    "limits": {\n      "properties": {\n' + ",\n".join(limits) + "\n      }\n    },\n"
        '    "joint_data": {\n      "allOf": [{"$ref": "#/$defs/limits"}],\n      "properties": {\n'
        + ",\n".join([*others, *OTHERS]) + "\n      }\n    },\n"
    )  # fmt: skip
    return before + own + after


if __name__ == "__main__":
    FILE.write_text(rewritten(FILE.read_text(encoding="utf-8")), encoding="utf-8")
