"""Pages that compute and the studio, in a Chromium without a window: drags, simulations, batches, edits."""

from __future__ import annotations

import base64
import json
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kinetree as kt
from kinetree_studio.view.browser import Browser

from .mechanisms import MODELS
from .timing import Table

FRAMES = 40
"""Frames of a drag along a curve in space."""

DRAG = """(() => {
  const app = kinetree.app, { mechanism } = app, body = BODY, local = [0, 0, 0];
  app.toPose();
  const start = mechanism.close(app.first), at = mechanism.pointAt(start, body, local), r = 0.08 * app.show.size;
  const held = { body, local, point: local }, gl = app.scene.renderer.gl, frames = [], pictures = [];
  let gaps = 0;
  app.q = start;
  for (let k = 1; k <= FRAMES; k++) {
    const a = (2 * Math.PI * k) / FRAMES, way = [Math.sin(a), 0.6 * Math.sin(2 * a), 1 - Math.cos(a)];
    const begin = performance.now();
    app.q = mechanism.drag(app.q, held, add(at, scaled(way, r))).q;
    app.seePose();
    frames.push(performance.now() - begin);
    if (mechanism.m) gaps = Math.max(gaps, mechanism.constraints(app.q).worst);
    if (k % 8) continue;
    app.picture(...app.pixels());
    gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, new Uint8Array(4));
    pictures.push(performance.now() - begin);
  }
  return [Math.max(...frames), frames.reduce((x, y) => x + y) / FRAMES, Math.min(...pictures), gaps];
})()"""

RUN = """(() => {
  const app = kinetree.app, { facts: f, mechanism } = app;
  app.toPose();
  Object.assign(app, { q: app.first });
  app.seePose();
  app.startRun();
  const h = app.letGo.step, state = Float64Array.from(app.letGo.state), n = Math.round(SECONDS / h);
  const begin = performance.now(), after = mechanism.steps(0, state, h, n);
  let times = 1;  // the clock is coarse
  for (; performance.now() - begin < 60; times++) mechanism.steps(0, state, h, n);
  return [(times * SECONDS) / (1e-3 * (performance.now() - begin)), h, after ? [...after] : null, [...app.first]];
})()"""

BATCH = """(async () => {
  const made = await Engine.of(Uint8Array.from(atob("CODE"), (c) => c.charCodeAt(0)), FUNCTIONS);
  const slot = made.slots.inverse_dynamics, count = 4096, states = [];
  for (let k = 0; k < count; k++) states.push(Float64Array.from({ length: 6 }, (_, j) => Math.sin(k + 0.3 * j)));
  made.many("inverse_dynamics", states.map((q) => ({ q, v: q, a: q })));
  let best = Infinity;
  for (let round = 0; round < 25; round++) {
    const begin = performance.now();
    for (let k = 0; k < 10; k++) made.exports.inverse_dynamics_many(count, slot.manyAt, slot.manyTo);
    best = Math.min(best, performance.now() - begin);
  }
  return (best / (10 * count)) * 1e6;
})()"""

EDIT = """(async () => {
  const begin = performance.now();
  await kinetree.desk.change(CHANGE);
  const seen = performance.now() - begin;
  while (!kinetree.app || kinetree.app.waits) await new Promise((done) => setTimeout(done, 5));
  return [seen, performance.now() - begin];
})()"""

PAINT = "(performance.getEntriesByType('paint').find((x) => x.name === 'first-contentful-paint') || {}).startTime"

DRAGGED = {"stewart-platform": 16.0, "cassie": 33.0, "four-bar": None, "humanoid": None}
RUNNING = {"four-bar": 1000.0, "cart-pole": 1000.0, "kuka-kr5": None, "stewart-platform": None}
LARGEST_PAGE = 900.0
SECONDS = 0.25


def pages(rounds: int) -> Iterator[Table]:
    """All of it. Times in the browser are of the wall clock, best of the rounds: measure on a quiet machine."""
    with tempfile.TemporaryDirectory() as place:
        blank = Path(place) / "blank.html"
        blank.write_text("<!doctype html>")
        browser = Browser(blank.as_uri(), (1280, 800))
        try:
            yield dragging(browser, Path(place), rounds)
            yield simulating(browser, Path(place), rounds)
            yield in_batches(browser, Path(place))
            yield editing(browser, Path(place), rounds)
        finally:
            browser.close()


def opened(browser: Browser, url: str, ready: str) -> None:
    browser.call("Page.navigate", url=url)
    until = time.monotonic() + 60.0
    while not browser.evaluate(f"Boolean(window.kinetree && kinetree.app && ({ready}))"):
        if time.monotonic() > until:
            raise TimeoutError(browser.evaluate("window.kinetree && kinetree.problem"))
        time.sleep(0.02)


def page_of(browser: Browser, robot: Any, place: Path) -> Any:
    made = kt.page(robot, place / "page.html")
    opened(browser, (place / "page.html").as_uri(), "kinetree.app.drawn")
    return made


def cart_pole() -> kt.Robot:
    b = kt.Builder("cart-pole")
    b.body("cart", "base", kt.Prismatic("x"), mass=1.0)
    b.body("pole", "cart", kt.Revolute("y"), mass=0.1, com=(0, 0, 0.5), inertia=(0.01, 0.01, 0.001), actuated=False)
    return b.build()


def dragging(browser: Browser, place: Path, rounds: int) -> Table:
    table = Table(
        f"A body is dragged along a curve, {FRAMES} frames, ms a frame: computing of the slowest frame and of the mean "
        "one;\nwith the picture, drawn by software without a graphics card",
        ("", "slowest", "mean", "asked", "with picture", "largest gap", "page, kB", "asked"),
    )
    for name, asked in DRAGGED.items():
        file = MODELS / "cassie" / "cassie.xml"
        if name == "cassie" and not file.exists():
            table.add(name, *["no file"] + [""] * 6)
            continue
        made = page_of(browser, kt.load(file) if name == "cassie" else name, place)
        ends = ("platform", "toe", "coupler")
        bodies = made.robot.body_names
        body = next((k for k, own in enumerate(bodies) if any(end in own for end in ends)), len(bodies) - 1)
        script = DRAG.replace("BODY", str(body)).replace("FRAMES", str(FRAMES))
        found = [browser.evaluate(script) for _ in range(rounds)]
        best = [min(row[k] for row in found) for k in range(3)]
        kilobytes = made.sizes["page"] / 1000.0
        table.add(name, *best[:2], asked or "", best[2], max(row[3] for row in found), kilobytes, LARGEST_PAGE)
    return table


def simulating(browser: Browser, place: Path, rounds: int) -> Table:
    table = Table(
        f"{SECONDS} s of a simulation in the page, and how far its end is from that of kt.simulate",
        ("", "times real time", "asked", "step, ms", "largest difference"),
    )
    for name, asked in RUNNING.items():
        made = page_of(browser, cart_pole() if name == "cart-pole" else name, place)
        longer = RUN.replace("SECONDS", str(SECONDS))
        found = [browser.evaluate(longer) for _ in range(rounds)]
        _, step, after, q = found[0]
        robot = made.robot
        record = kt.simulate(
            robot, q, [0.0] * robot.nv, time=SECONDS, integrator="rk4", step=step, progress=False, works=True
        )
        reached = [*record.q[-1], *record.v[-1]]
        apart = max(abs(x - y) for x, y in zip(after, reached, strict=False)) if after else "ended"
        table.add(name, max(row[0] for row in found), asked or "", 1e3 * step, apart)
    return table


def in_batches(browser: Browser, place: Path) -> Table:
    table = Table("Inverse dynamics in batches of 4096, WebAssembly with two lanes", ("", "ns a state", "asked"))
    page_of(browser, "kuka-kr5", place)
    made = kt.load("kuka-kr5").webassembly(["inverse_dynamics"])
    functions = json.dumps(made.description["functions"])
    script = BATCH.replace("CODE", base64.b64encode(made.code).decode()).replace("FUNCTIONS", functions)
    table.add("KUKA KR5", browser.evaluate(script), 100.0)
    return table


def editing(browser: Browser, place: Path, rounds: int) -> Table:
    table = Table(
        "The studio, ms: from an edit to the picture, and to the laws of motion; first paint of its page (asked 1500)",
        ("", "a mass", "a length", "friction: picture", "friction: laws", "first paint"),
    )
    for name in ("four-bar", "stewart-platform", "humanoid"):
        with kt.studio(name, folder=place, port=0) as studio:
            opened(browser, studio.url, "kinetree.app.drawn && !kinetree.app.waits")
            paint, body = browser.evaluate(PAINT), studio.document.robot.body_names[-1]
            inside = [
                studio.document.value("bodies", own, "placement", "position")
                for own in studio.document.robot.body_names
            ]
            placed = next(k for k, own in enumerate(inside) if own)
            masses, lengths, others = [], [], []
            for k in range(min(rounds, 4)):
                mass = {"do": "set", "at": ["bodies", body, "mass"], "to": 2.0 + 0.1 * k}
                masses.append(browser.evaluate(EDIT.replace("CHANGE", json.dumps(mass)))[1])
                at = ["bodies", studio.document.robot.body_names[placed], "placement", "position"]
                length = {"do": "set", "at": at, "to": [float(x) * (1.0 + 0.001 * k) for x in inside[placed]]}
                lengths.append(browser.evaluate(EDIT.replace("CHANGE", json.dumps(length)))[1])
            model = studio.document.robot.model
            hinge = next(b.name for b, j in zip(model.bodies, model.joints, strict=True) if j.kind.nv == 1)
            for k in range(2):
                rough = {"do": "set", "at": ["bodies", hinge, "joint", "friction"], "to": 0.1 + k}
                others.append(browser.evaluate(EDIT.replace("CHANGE", json.dumps(rough))))
                browser.evaluate("kinetree.desk.step('undo').then(() => 0)")
            browser.evaluate("kinetree.desk.told = null; 0")
            table.add(name, min(masses), min(lengths), others[0][0], others[0][1], paint)
    return table
