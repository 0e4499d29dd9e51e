// What surrounds the scene of a page that computes: the bar below it, and the panel beside it.

function pressed(text, act, more = {}) {
  const made = element("button", { type: "button", textContent: text, ...more });
  made.onclick = act;
  return made;
}

// The bar: what the robot does, and its clock.
class LiveBar {
  constructor(node, app) {
    this.app = app;
    const { facts, turnable } = app;
    this.modes = {
      pose: pressed("Pose", () => { app.toPose(); app.seePose(); app.refresh(); }, { title: "Move it by hand" }),
      turn: pressed("Turn", () => { app.startTurn(app.turning || turnable[0], true); app.refresh(); }, { title: "Turn a motor at constant speed" }),
      run: pressed("Let go", () => { app.startRun(); app.play(true); }, { title: "Simulate from this pose" }),
    };
    if (!turnable.length) this.modes.turn.hidden = true;
    this.play = pressed("Play", () => app.play(!app.playing), { className: "main" });
    this.reset = pressed("Reset", () => app.reset(), { title: "Back to where it was let go" });
    this.which = element("select", { ariaLabel: "What turns" }, ...turnable.map((j, k) => element("option", { value: k, textContent: j.label, selected: j.name === facts.turn })));
    this.which.onchange = () => { app.turning = turnable[this.which.value]; app.mode = "pose"; app.startTurn(app.turning, app.playing); app.refresh(); };
    this.speed = new SliderRow({ label: "speed", unit: "rad/s", value: facts.speed, low: 0.05 * facts.speed, high: 6 * facts.speed, units: app.units, change: (value) => { this.speed.set(Math.max(value, 1e-3 * facts.speed)); app.changed(); } });
    this.pace = element("select", { ariaLabel: "Pace" }, ...[0.1, 0.25, 0.5, 1, 2, 4].map((s) => element("option", { value: s, textContent: `${s}×`, selected: s === 1 })));
    this.pace.onchange = () => { app.pace = Number(this.pace.value); };
    this.clock = element("output");
    this.gap = element("span", { className: "grow" });
    const home = pressed("⌂", () => { app.orbit.reset(); app.redraw(); }, { title: "See the whole robot", ariaLabel: "Reset view" });
    const panel = pressed("☰", () => { document.body.classList.toggle("alone"); app.redraw(); }, { title: "Show or hide the panels", ariaLabel: "Panels" });
    node.append(element("div", { className: "modes", role: "group", ariaLabel: "What it does" }, ...Object.values(this.modes)), this.play, this.reset, this.which, this.speed.node, this.gap, this.clock, this.pace, element("span", {}, home, " ", panel));
    this.update();
  }

  update() {
    const { app } = this;
    for (const [name, made] of Object.entries(this.modes)) made.setAttribute("aria-pressed", app.mode === name);
    for (const made of [this.play, this.clock]) made.hidden = app.mode === "pose";
    for (const made of [this.reset, this.pace]) made.hidden = app.mode !== "run";
    this.which.hidden = app.mode !== "turn" || app.turnable.length < 2;
    this.which.value = app.turnable.indexOf(app.turning);
    this.speed.node.hidden = app.mode !== "turn";
    this.gap.hidden = app.mode === "turn";
    this.play.textContent = app.playing ? "Pause" : "Play";
    this.clock.textContent = `${app.time.toFixed(2)} s`;
  }
}

// The panel: numbers of what is seen, curves, and what is shown.
class LivePanel {
  constructor(node, app) {
    Object.assign(this, { app, ticks: new Map() });
    const { show } = app;
    this.now = new Now(app);
    const ticks = [["forces", "Forces in joints"], ...SWITCHES.filter(([name]) => name in show.shown && name !== "forces")].map(([name, label]) => {
      const box = element("input", { type: "checkbox", checked: show.shown[name] });
      box.onchange = () => { show.shown[name] = box.checked; app.redraw(); };
      this.ticks.set(name, box);
      return element("label", {}, box, element("span", { textContent: label }));
    });
    const names = Object.keys(app.scene.main.points);
    this.trailOf = element("select", { ariaLabel: "Path of" }, element("option", { value: "", textContent: "no path" }), ...names.map((name) => element("option", { value: name, textContent: `path of ${name}` })));
    this.trailOf.onchange = () => app.redraw();
    node.append(this.now.node, section("Curves", true, app.curves.node), section("Show", true, element("div", { className: "ticks" }, ...ticks), element("div", { className: "pair" }, this.trailOf), element("label", { className: "pair" }, element("span", { textContent: "Units" }), app.units.select)), element("p", { className: "hint", textContent: "Drag a body to move it. Drag beside it to look around, wheel to zoom. Everything is computed in this page." }));
  }

  update() {
    this.now.update();
    for (const [name, box] of this.ticks) box.checked = this.app.show.shown[name];
  }
}
