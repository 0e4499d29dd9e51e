"""The scripts of a page that computes, run by Node without the page: numbers and times of its functions."""

import base64
import json
import subprocess
from importlib.resources import files

import numpy as np

from kinetree.evaluation.parameters import ParameterReader

from .node import NODE

SCRIPT = """
const given = JSON.parse(require("fs").readFileSync(0, "utf8"));
const facts = given.facts;
(async () => {
  const engine = await Engine.of(Buffer.from(given.code, "base64"), facts.functions);
  const p = Float64Array.from(given.p), mechanism = new Mechanism(engine, facts, p);
  const array = (x) => Float64Array.from(x), plain = (x) => (ArrayBuffer.isView(x) ? Array.from(x) : x);
  const body = new Function("mechanism", "engine", "facts", "array", "p", given.body);
  const answer = await body(mechanism, engine, facts, array, p);
  console.log(JSON.stringify(answer, (_, x) => plain(x)));
})();
"""


def computed(page, body, **numbers):
    """Run the body of a function of ``mechanism, engine, facts, array, p`` and return what it returns.

    ``numbers`` are values of sliders, by their names, perhaps with underscores.
    """
    facts, kernels = dict(page.facts), page.kernels
    sliders = {slider.name for slider in page.numbers.sliders}
    typed = {name if name in sliders else name.replace("_", " "): x for name, x in numbers.items()}
    given = page.numbers.parameters(typed)
    read = ParameterReader(page.robot.model)(given)
    p = np.concatenate([read.numbers, kernels.equation.numbers[len(read.numbers) :]])
    code = base64.b64encode(bytes(facts.pop("code"))).decode()
    web = files("kinetree_studio")
    scripts = [web / "view" / "web" / "linear.js", *(web / "page" / "web" / f for f in ("engine.js", "mechanism.js"))]
    text = "\n".join(script.read_text(encoding="utf-8") for script in scripts) + SCRIPT
    data = json.dumps(
        {"facts": facts, "code": code, "p": p.tolist(), "body": body}, default=lambda x: np.asarray(x).tolist()
    )
    ended = subprocess.run([NODE, "-e", text], input=data, capture_output=True, text=True, check=False, timeout=120)
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)
