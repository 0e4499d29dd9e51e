"""WebAssembly run by Node, as a browser would run it."""

import base64
import json
import shutil
import subprocess

import numpy as np
import pytest

NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="Node is not installed")

SCRIPT = """
const given = JSON.parse(require("fs").readFileSync(0, "utf8"));
WebAssembly.instantiate(Buffer.from(given.code, "base64")).then(({ instance: { exports } }) => {
  const answers = given.calls.map(({ name, count, data, size }) => {
    const bytes = Buffer.from(data, "base64"), at = exports.heap.value, to = at + bytes.length;
    const missing = to + size * 8 - exports.memory.buffer.byteLength;
    if (missing > 0) exports.memory.grow(Math.ceil(missing / 65536));
    new Uint8Array(exports.memory.buffer).set(bytes, at);
    if (count === null) exports[name](at, to); else exports[name](count, at, to);
    return Buffer.from(exports.memory.buffer, to, size * 8).toString("base64");
  });
  console.log(JSON.stringify({ answers, exports: Object.keys(exports) }));
});
"""


def run(code, *calls):
    """Call functions ``(name, inputs, size of a result)``; inputs are (n,) for one state, (count, n) for many."""
    asked = []
    for name, inputs, size in calls:
        array = np.ascontiguousarray(inputs, dtype=np.float64)
        count = None if array.ndim == 1 else len(array)
        data = base64.b64encode(array.tobytes()).decode()
        asked.append({"name": name, "count": count, "data": data, "size": size * (count or 1)})
    text = json.dumps({"code": base64.b64encode(code).decode(), "calls": asked})
    ended = subprocess.run([NODE, "-e", SCRIPT], input=text, capture_output=True, text=True, check=False, timeout=120)
    assert ended.returncode == 0, ended.stderr
    answers = json.loads(ended.stdout)["answers"]
    found = [np.frombuffer(base64.b64decode(answer)) for answer in answers]
    return [x if np.ndim(call[1]) == 1 else x.reshape(-1, call[2]) for x, call in zip(found, calls, strict=True)]


def exports(code):
    """Names of what a module exports."""
    text = json.dumps({"code": base64.b64encode(code).decode(), "calls": []})
    ended = subprocess.run([NODE, "-e", SCRIPT], input=text, capture_output=True, text=True, check=True, timeout=60)
    return json.loads(ended.stdout)["exports"]
