// One number or two that vary, and what is measured of each design: a curve, or a map; a press takes its numbers.

const MAP_COLORS = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]];

function mapColor(share) {
  const at = Math.min(Math.max(share, 0), 1) * (MAP_COLORS.length - 1), k = Math.min(Math.floor(at), MAP_COLORS.length - 2);
  return `rgb(${MAP_COLORS[k].map((x, i) => Math.round(x + (at - k) * (MAP_COLORS[k + 1][i] - x))).join(" ")})`;
}

class SweepForm {
  constructor(panel) {
    Object.assign(this, { panel, doing: "Sweep", set: null });
    this.node = element("div", { className: "form" });
    this.picture = new SweepPicture(this);
    this.view = this.picture.node;
  }

  get desk() { return this.panel.desk; }
  get units() { return this.desk.units; }
  get offered() { return this.panel.offers.sweeps[this.set.of]; }
  forget() { this.set = null; this.picture.show(null); }
  opened() { this.picture.draw(); }

  begin(last) {
    if (last && !this.set) this.set = { of: last.of.kind, axes: last.numbers.map((name, k) => ({ name, low: last.lows[k], high: last.highs[k], count: last.counts[k] })), measure: last.measure };
    if (!this.set) this.set = { of: "motion", axes: [this.usual("motion")], measure: "" };
    this.mend();
    this.make();
  }

  usual(of, not = "") {
    const { numbers } = this.panel.offers.sweeps[of], found = numbers.filter((one) => one.name !== not), one = found.find((own) => own.name.startsWith("mass")) || found[0];
    return one && this.axis(one);
  }

  // The ends of a number to begin with: not zero, where nothing works.
  axis({ name, low, high, value }) { const step = (high - low) / 20; return { name, low: Number((low > 0 ? low : Math.min(step, value || step)).toPrecision(3)), high: Number(high.toPrecision(3)), count: 31 }; }

  mend() {
    const { numbers, measures } = this.offered, names = numbers.map((one) => one.name);
    this.set.axes = this.set.axes.filter((axis) => axis && names.includes(axis.name));
    if (!this.set.axes.length) this.set.axes = [this.usual(this.set.of)].filter(Boolean);
    if (!measures.some((one) => one.name === this.set.measure)) this.set.measure = measures.length ? measures[0].name : "";
  }

  content() {
    const { set, panel } = this, of = { ...panel.forms[set.of].content() }, varied = set.axes.map((axis) => axis.name);
    of.values = Object.fromEntries(Object.entries(of.values).filter(([name]) => !varied.includes(name)));
    this.base = panel.forms.simulation.set && set.of === "simulation" ? JSON.parse(JSON.stringify(panel.forms.simulation.gains)) : null;
    return { kind: "sweep", q: of.q, of, numbers: varied, lows: set.axes.map((a) => a.low), highs: set.axes.map((a) => a.high), counts: set.axes.map((a) => a.count), measure: set.measure };
  }

  problem(where, text) { this.told.textContent = text; }

  change() { this.mend(); this.make(); this.panel.changed(); }

  row(axis, k) {
    const { numbers } = this.offered, { units } = this, known = axis && numbers.find((one) => one.name === axis.name), unit = known ? known.unit : "";
    const pick = choice(k ? "And what else varies" : "What varies", [...(k ? [["", "nothing else"]] : []), ...numbers.map((one) => [one.name])], axis ? axis.name : "", (name) => {
      this.set.axes[k] = name ? this.axis(numbers.find((one) => one.name === name)) : undefined;
      this.set.axes = this.set.axes.filter(Boolean);
      if (this.set.axes.length > 1) for (const own of this.set.axes) own.count = Math.min(own.count, 21);
      this.change();
    });
    const end = (key, label, of) => {
      const made = element("input", { value: key === "count" ? axis.count : short(units.shown(axis[key], unit), 5), ariaLabel: `${label} of ${of}`, inputMode: "decimal" });
      made.onchange = () => { const x = Number(made.value.replace(",", ".")); if (made.value.trim() !== "" && Number.isFinite(x)) { axis[key] = key === "count" ? Math.round(x) : x / units.shown(1, unit); this.change(); } else this.told.textContent = `"${made.value}" is not a number.`; };
      return element("label", {}, element("span", { textContent: label }), made);
    };
    return element("div", { className: "axis" }, pick, ...(axis ? [element("div", { className: "three" }, end("low", `from [${units.label(unit)}]`, axis.name), end("high", "to", axis.name), end("count", "values", axis.name))] : []));
  }

  make() {
    const { set } = this, { measures } = this.offered;
    this.told = element("p", { className: "problem", role: "alert" });
    this.node.replaceChildren(
      element("div", { className: "field" }, element("label", { textContent: "of" }), choice("Of what", [["motion", "the motion"], ["simulation", "the simulation"]], set.of, (of) => { set.of = of; this.change(); })),
      element("h4", { textContent: "What varies" }), this.row(set.axes[0], 0), ...(set.axes.length ? [this.row(set.axes[1], 1)] : []),
      element("h4", { textContent: "What is measured" }), choice("What is measured", measures.map((one) => [one.name]), set.measure, (name) => { set.measure = name; this.change(); }),
      ...(set.of === "simulation" ? [element("p", { className: "hint", textContent: "All designs are simulated together, with a fixed step." })] : []), this.told,
      element("div", { className: "actions" }, button("Sweep", () => this.panel.compute(), { className: "main" })),
    );
  }

  accept(told, content) { this.picture.show({ ...content, notes: told.notes }); }

  // Take the numbers of a design: sliders are moved there.
  take(values) {
    const { axes } = this.picture.result, { app } = this.desk, { forms } = this.panel;
    this.taking = true;
    axes.forEach(({ name }, k) => {
      const slider = app.facts.sliders.findIndex((own) => own.name === name), gain = name.startsWith("stiffness") ? "kp" : "kd";
      if (slider >= 0) app.setNumber(slider, values[k]);
      else if (this.base) { forms.simulation.gains[gain] = this.base[gain].map((x) => x * values[k]); forms.simulation.make(); }
    });
    this.taking = false;
    this.picture.taken = values;
    this.picture.draw();
  }

  refresh() {}
}

class SweepPicture {
  constructor(form) {
    this.form = form;
    this.canvas = element("canvas", { className: "sweep" });
    this.canvas.setAttribute("role", "img");
    this.said = element("p", { className: "hint" });
    this.node = element("div", { className: "sweep-view" }, this.canvas, this.said);
    this.canvas.onpointermove = (e) => this.tell(e);
    this.canvas.onclick = (e) => { const at = this.at(e); if (at) this.form.take(at.values); };
    new ResizeObserver(() => this.draw()).observe(this.node);
  }

  show(result) {
    Object.assign(this, { result, taken: null });
    this.told(result ? [...result.notes, `Press ${result.axes.length > 1 ? "the map" : "the curve"} to take these numbers.`].join(" ") : "Choose what varies and what is measured, then press Sweep.");
    this.draw();
  }

  told(text) { this.said.textContent = text; }

  draw() {
    const { canvas, result, form } = this, { units } = form, [wide, tall] = [canvas.clientWidth, canvas.clientHeight];
    if (!wide || !tall) return;
    const ratio = window.devicePixelRatio || 1, pen = canvas.getContext("2d");
    [canvas.width, canvas.height] = [Math.round(wide * ratio), Math.round(tall * ratio)];
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, wide, tall);
    if (!result) return;
    const style = getComputedStyle(document.body), [edge, faint, ink, accent] = ["--edge", "--faint", "--ink", "--accent"].map((name) => style.getPropertyValue(name));
    const shown = (values, unit) => Array.from(values, (x) => units.shown(x, unit)), [one, two] = result.axes, value = shown(result.value, result.unit), known = value.filter(Number.isFinite);
    const x = shown(one.values, one.unit), y = two && shown(two.values, two.unit), named = (axis) => `${axis.name}${axis.unit ? ` [${units.label(axis.unit)}]` : ""}`, what = `${result.measure} [${units.label(result.unit)}]`;
    let [low, high] = [Math.min(...known), Math.max(...known)];
    if (!(high > low)) [low, high] = [low - 0.5 * Math.abs(low || 1), high + 0.5 * Math.abs(high || 1)];
    const box = { left: 62, right: wide - (two ? 92 : 14), top: 26, bottom: tall - 42 }, rise = two ? [y[0], y[y.length - 1]] : [low - 0.06 * (high - low), high + 0.06 * (high - low)];
    const px = (v) => box.left + ((v - x[0]) / (x[x.length - 1] - x[0])) * (box.right - box.left), py = (v) => box.bottom - ((v - rise[0]) / (rise[1] - rise[0])) * (box.bottom - box.top);
    Object.assign(this, { box, x, y, px, py });
    pen.font = "12px system-ui, sans-serif";
    if (two) {
      const w = (box.right - box.left) / x.length, h = (box.bottom - box.top) / y.length;
      x.forEach((_, i) => y.forEach((__, j) => { const v = value[i * y.length + j]; if (Number.isFinite(v)) { pen.fillStyle = mapColor((v - low) / (high - low)); pen.fillRect(box.left + i * w - 0.3, box.bottom - (j + 1) * h - 0.3, w + 0.6, h + 0.6); } }));
      for (let k = 0; k < 60; k++) { pen.fillStyle = mapColor((k + 0.5) / 60); pen.fillRect(box.right + 14, box.bottom - ((k + 1) / 60) * (box.bottom - box.top), 14, (box.bottom - box.top) / 60 + 0.5); }
      const step = stepOfAxis(low, high);
      pen.fillStyle = faint; pen.textAlign = "left"; pen.textBaseline = "middle";
      for (let v = Math.ceil(low / step) * step; v <= high; v += step) pen.fillText(written(v, step), box.right + 32, box.bottom - ((v - low) / (high - low)) * (box.bottom - box.top));
    }
    pen.strokeStyle = edge; pen.fillStyle = faint; pen.lineWidth = 1;
    const stepY = stepOfAxis(rise[0], rise[1]), stepX = stepOfAxis(x[0], x[x.length - 1]);
    pen.textAlign = "right"; pen.textBaseline = "middle";
    for (let v = Math.ceil(rise[0] / stepY) * stepY; v <= rise[1] + 1e-9 * stepY; v += stepY) { if (!two) { pen.beginPath(); pen.moveTo(box.left, py(v)); pen.lineTo(box.right, py(v)); pen.stroke(); } pen.fillText(written(Math.abs(v) < 1e-9 * stepY ? 0 : v, stepY), box.left - 6, py(v)); }
    pen.textAlign = "center"; pen.textBaseline = "top";
    for (let v = Math.ceil(x[0] / stepX - 1e-9) * stepX; v <= x[x.length - 1] + 1e-9 * stepX; v += stepX) pen.fillText(written(Math.abs(v) < 1e-9 * stepX ? 0 : v, stepX), px(v), box.bottom + 5);
    pen.fillStyle = ink;
    pen.fillText(named(one), 0.5 * (box.left + box.right), box.bottom + 22);
    pen.textAlign = "left"; pen.textBaseline = "bottom";
    pen.fillText(two ? `${named(two)}, upward; color: ${what}` : what, 8, 18);
    if (!two) {
      pen.strokeStyle = accent; pen.fillStyle = accent; pen.lineWidth = 2;
      pen.beginPath();
      let going = false;
      value.forEach((v, k) => { if (!Number.isFinite(v)) { going = false; return; } if (going) pen.lineTo(px(x[k]), py(v)); else pen.moveTo(px(x[k]), py(v)); going = true; });
      pen.stroke();
      if (x.length <= 61) value.forEach((v, k) => { if (Number.isFinite(v)) { pen.beginPath(); pen.arc(px(x[k]), py(v), 2.6, 0, 7); pen.fill(); } });
    }
    if (this.taken) {
      const [a, b] = this.taken.map((v, k) => units.shown(v, result.axes[k].unit));
      pen.strokeStyle = ink; pen.lineWidth = 2;
      pen.beginPath();
      if (two) pen.arc(this.cell(0, a), this.cell(1, b), 6, 0, 7); else { pen.moveTo(px(a), box.top); pen.lineTo(px(a), box.bottom); }
      pen.stroke();
    }
    canvas.setAttribute("aria-label", `${what} over ${result.axes.map(named).join(" and ")}`);
  }

  // The middle of the cell of a map.
  cell(k, value) {
    const { box } = this, all = k ? this.y : this.x, i = all.reduce((best, v, j) => (Math.abs(v - value) < Math.abs(all[best] - value) ? j : best), 0), share = (i + 0.5) / all.length;
    return k ? box.bottom - share * (box.bottom - box.top) : box.left + share * (box.right - box.left);
  }

  // The design under the pointer.
  at(e) {
    const { result, box, x, y } = this;
    if (!result || !box) return null;
    const rect = this.canvas.getBoundingClientRect(), sx = (e.clientX - rect.left - box.left) / (box.right - box.left), sy = (box.bottom - (e.clientY - rect.top)) / (box.bottom - box.top);
    if (!(sx >= -0.02 && sx <= 1.02 && sy >= -0.02 && sy <= 1.02)) return null;
    const within = (share, n) => Math.min(Math.max(share, 0), n - 1), i = within(y ? Math.floor(sx * x.length) : Math.round(sx * (x.length - 1)), x.length), j = y ? within(Math.floor(sy * y.length), y.length) : 0;
    return { values: result.axes.map((axis, k) => axis.values[k ? j : i]), value: result.value[y ? i * y.length + j : i] };
  }

  tell(e) {
    const at = this.at(e), { result, form: { units } } = this;
    if (!at) return;
    const said = (name, x, unit) => `${name} ${short(units.shown(x, unit), 4)} ${units.label(unit)}`;
    this.told(`${result.axes.map((axis, k) => said(axis.name, at.values[k], axis.unit)).join(", ")}: ${Number.isFinite(at.value) ? said(result.measure, at.value, result.unit) : "it cannot make the motion"}. Press to take these numbers.`);
  }
}
