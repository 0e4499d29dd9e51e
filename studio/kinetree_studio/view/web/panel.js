// The controls beside the scene: playing, curves, what is shown, joints.

// Make an element; names of robots come from files, so they are only ever set as text.
function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children.filter(Boolean));
  return made;
}

const section = (title, open, ...children) => element("details", { open }, element("summary", { textContent: title }), element("div", {}, ...children));

const SWITCHES = [
  ["ground", "Ground"], ["joints", "Joints"], ["follow", "Follow the robot"], ["forces", "Forces, moments"], ["frames", "Frames"],
  ["axes", "Joint axes"], ["com", "Center of mass"], ["shapes", "Shapes that touch"], ["inertia", "Inertia ellipsoids"], ["ghost", "Ghost"],
];
const SPEEDS = [0.05, 0.1, 0.25, 0.5, 1, 2, 4];

class Bar {
  constructor(node, app) {
    this.app = app;
    const { clock } = app;
    this.node = node;
    this.toggle = element("button", { className: "main", type: "button", textContent: "Play" });
    this.toggle.onclick = () => app.play(!clock.playing);
    this.slider = element("input", { type: "range", min: 0, max: 1, step: "any", value: 0, ariaLabel: "Time" });
    this.slider.oninput = () => app.seek(clock.begin + Number(this.slider.value) * (clock.end - clock.begin));
    this.time = element("output");
    this.speed = element("select", { ariaLabel: "Speed" });
    this.speed.onchange = () => app.speed(Number(this.speed.value));
    this.repeat = element("button", { type: "button", textContent: "↻", title: "Begin again at the end", ariaLabel: "Repeat" });
    this.repeat.onclick = () => app.repeat(!clock.repeat);
    const panel = element("button", { type: "button", textContent: "☰", title: "Show or hide the panel", ariaLabel: "Panel" });
    panel.onclick = () => { document.body.classList.toggle("alone"); app.redraw(); };
    const view = element("button", { type: "button", textContent: "⌂", title: "See the whole robot", ariaLabel: "Reset view" });
    view.onclick = () => { app.orbit.reset(); app.redraw(); };
    if (clock.moves) node.append(this.toggle, this.slider, this.time, this.speed, this.repeat);
    else node.append(element("span", { className: "about", textContent: "Drag to turn, wheel to zoom, right button to move.", style: "flex:1;margin:0" }));
    node.append(view, panel);
  }

  update() {
    const { clock } = this.app;
    const text = clock.playing ? "Pause" : "Play";
    if (this.toggle.textContent !== text) this.toggle.textContent = text;
    if (clock.moves) this.slider.value = (clock.time - clock.begin) / (clock.end - clock.begin);
    const time = `${clock.time.toFixed(clock.end - clock.begin < 100 ? 3 : 1)} s`;
    this.time.textContent = this.app.scene.held ? `(${time})` : time;
    for (const node of [this.slider, this.time]) {
      node.classList.toggle("elsewhere", Boolean(this.app.scene.held));
      node.title = this.app.scene.held ? "The robot was moved: what is seen is of no moment of the motion." : "";
    }
    this.repeat.setAttribute("aria-pressed", clock.repeat);
    if (Number(this.speed.value) !== clock.speed) {
      const known = [...new Set([...SPEEDS, clock.speed])].sort((a, b) => a - b);
      this.speed.replaceChildren(...known.map((s) => element("option", { value: s, textContent: `${s}×`, selected: s === clock.speed })));
    }
  }
}

class Panel {
  constructor(node, app) {
    this.app = app;
    const { show } = app;
    this.units = new Units(show.units);
    this.units.listeners.push(() => { this.restShown = null; this.updateRest(); if (this.sliders.length) this.setSliders(this.values); });
    this.plots = [];
    node.append(element("h1", { textContent: show.title }), element("p", { className: "about", textContent: show.about }));
    node.append(this.restSection());
    const energy = show.curves.filter((g) => g.title === "Energy"), rest = show.curves.filter((g) => g.title !== "Energy");
    for (const [title, groups, open] of [["Energy", energy, true], ["Curves", rest, innerWidth > 760 || !energy.length]]) {
      if (!groups.length) continue;
      const plot = new Plot(groups, show.curveTime, (t) => app.seek(t), this.units);
      this.plots.push(plot);
      const made = section(groups === energy ? `Energy [${groups[0].unit}]` : title, open, plot.node);
      plot.aside = element("span", { className: "aside" });
      made.querySelector("summary").append(plot.aside);
      made.ontoggle = () => this.drawPlot(plot);
      node.append(made);
    }
    node.append(this.shownSection());
    this.sliders = [];
    if (show.sliders.length) node.append(this.jointSection());
  }

  drawPlot(plot) {
    const elsewhere = Boolean(this.app.scene.held);
    plot.aside.textContent = elsewhere ? "not of this pose" : "";
    plot.draw(this.app.clock.time, elsewhere);
  }

  // What a pose is like that stands still, because there is no motion or the robot was moved by hand.
  restSection() {
    this.restRows = element("div", { className: "rows" });
    this.rest = section("This pose, at rest", true, this.restRows);
    this.rest.id = "rest";
    return this.rest;
  }

  updateRest() {
    const { rest } = this.app;
    this.rest.hidden = !rest;
    if (!rest || rest === this.restShown) return;
    this.restShown = rest;
    const row = (name, value, unit) => element("div", { className: "row", title: name }, element("span", { textContent: name }), element("span", { textContent: this.units.label(unit), className: "unit" }), element("output", { textContent: value === null ? "–" : Number(this.units.shown(value, unit).toPrecision(4)) }));
    this.restRows.replaceChildren(...[
      row("potential energy", rest.energy, "J"),
      rest.holding.length ? element("p", { className: "about", textContent: "Held against gravity and springs by" }) : null,
      ...rest.holding.map(([name, value, unit]) => row(name, value, unit)),
      rest.note ? element("p", { className: "about", textContent: rest.note }) : null,
    ].filter(Boolean));
  }

  shownSection() {
    const { app } = this;
    const { show } = app;
    this.ticks = {};
    const ticks = SWITCHES.filter(([name]) => name in show.shown).map(([name, label]) => {
      const box = element("input", { type: "checkbox", checked: show.shown[name] });
      box.onchange = () => app.setShown(name, box.checked);
      this.ticks[name] = box;
      return element("label", {}, box, element("span", { textContent: label }));
    });
    const names = Object.keys(app.scene.main.points);
    let trails = null;
    if (names.length && app.clock.moves) {
      const chosen = element("select", { ariaLabel: "Trail of" }, ...names.map((name) => element("option", { value: name, textContent: name, selected: name === names[names.length - 1] })));
      const plus = element("button", { type: "button", textContent: "Draw its trail" });
      const minus = element("button", { type: "button", textContent: "Clear" });
      plus.onclick = () => app.setTrails([...new Set([...show.trails, chosen.value])]);
      minus.onclick = () => app.setTrails([]);
      trails = element("div", { className: "pair" }, chosen, plus, minus);
    }
    const units = element("label", { className: "pair" }, element("span", { textContent: "Units" }), this.units.select);
    return section("Show", innerWidth > 760, element("div", { className: "ticks" }, ...ticks), trails, units);
  }

  jointSection() {
    const { app } = this;
    const rows = app.show.sliders.map((slider, k) => {
      const value = element("output");
      let range;
      if (app.show.live) {
        range = element("input", { type: "range", min: slider.low, max: slider.high, step: "any", ariaLabel: slider.label });
        range.oninput = () => { this.values[k] = Number(range.value); app.move(slider.joint, this.values.filter((_, i) => app.show.sliders[i].joint === slider.joint)); };
      } else {
        range = element("meter", { min: slider.low, max: slider.high, ariaLabel: slider.label, style: "width:100%" });
      }
      this.sliders.push({ range, value, unit: slider.unit });
      return element("div", { className: "row", title: slider.label }, element("span", { textContent: slider.label }), range, value);
    });
    this.values = app.show.sliders.map((s) => s.value);
    const reset = element("button", { type: "button", textContent: "Back to the start" });
    reset.onclick = () => app.reset();
    this.setSliders(this.values);
    return section("Joints", !app.clock.moves, app.show.live ? reset : null, ...rows);
  }

  setSliders(values) {
    this.values = [...values];
    this.sliders.forEach(({ range, value, unit }, k) => {
      if (!Number.isFinite(values[k])) { value.textContent = "–"; return; }
      if (values[k] > Number(range.max)) range.max = values[k];
      if (values[k] < Number(range.min)) range.min = values[k];
      range.value = values[k];
      const shown = this.units.shown(values[k], unit);
      value.textContent = this.units.label(unit) === unit ? shown.toFixed(3) : `${shown.toFixed(1)} ${this.units.label(unit)}`;
    });
  }

  update() {
    const { app } = this;
    for (const [name, box] of Object.entries(this.ticks)) box.checked = app.show.shown[name];
    this.updateRest();
    for (const plot of this.plots) this.drawPlot(plot);
    const { sliderValues, sliders } = app.show;
    if (sliders.length && sliderValues && !app.scene.held) {
      const at = app.scene.main.sample * sliders.length;
      this.setSliders(sliderValues.subarray(at, at + sliders.length));
    }
  }
}
