// Curves of a turn or of a simulation: what can be plotted, the table of it, and the plot.

// The largest value, with its sign, and the root mean square over time; NaN if no value is known.
function peakAndRms(times, values) {
  let [peak, squares, time] = [NaN, 0, 0];
  for (let i = 0; i < values.length; i++) {
    if (!Number.isFinite(values[i])) continue;
    if (!(Math.abs(values[i]) <= Math.abs(peak))) peak = values[i];
    if (i && Number.isFinite(values[i - 1])) { const h = times[i] - times[i - 1]; squares += (0.5 * h) * (values[i] ** 2 + values[i - 1] ** 2); time += h; }
  }
  return [peak, time > 0 ? Math.sqrt(squares / time) : Math.abs(peak)];
}

class LivePlot extends Plot {
  constructor(...given) {
    super(...given);
    this.peaks = element("table", { className: "peaks" });
    this.node.append(this.peaks);
  }

  draw(now, elsewhere) {
    super.draw(now, elsewhere);
    this.tell();
  }

  tell() {
    const { group, units } = this, unit = units.label(group.unit), seen = [...this.chosen.get(group)].sort((a, b) => a - b);
    const rows = [["", `peak [${unit}]`, `rms [${unit}]`], ...seen.map((k) => [group.names[k], ...peakAndRms(this.times, this.curve(k)).map((x) => short(x))])];
    const key = JSON.stringify(rows);
    if (key === this.told) return;
    this.told = key;
    this.peaks.replaceChildren(...rows.map((row, i) => element("tr", {}, ...row.map((text) => element(i ? "td" : "th", { textContent: text })))));
    this.peaks.hidden = !seen.length;
  }
}

class LiveCurves {
  constructor(app) {
    Object.assign(this, { app, plot: null, times: new Float64Array(0) });
    this.node = element("div");
  }

  // What can be plotted: a title, a unit, names, and how a curve is read from a moment.
  groups() {
    const { app } = this, { facts } = app, groups = [];
    const add = (title, unit, names, read) => { if (names.length) groups.push({ title, unit, names, read, data: new Float32Array(0) }); };
    const by = (title, units, list, read) => { for (const unit of new Set(list.map(units))) { const own = list.filter((x) => units(x) === unit); add(title, unit, own.map((x) => x.label), (s, k) => read(s, own[k])); } };
    const motors = facts.joints.filter((j) => j.motor), at = (x) => (x.told.quality >= 1 ? 1 : NaN);
    if (app.mode === "pose") return groups;
    if (app.hasForces) by("Torque of motors", (j) => facts.forceUnits[j.v], motors, (s, j) => s.told.tau[j.v] * at(s));
    by("Position", (j) => j.unit, facts.joints, (s, j) => s.q[j.q]);
    by("Velocity", (j) => facts.rateUnits[j.v], facts.joints, (s, j) => s.told.v[j.v] * at(s));
    const pins = facts.pins.map((label, k) => ({ label, k })).filter(({ k }) => facts.pinKinds[k]);
    if (app.hasForces) add("Forces in joints", "N", pins.map((p) => p.label), (s, i) => { const { k } = pins[i], w = s.told.wrenches; return Math.hypot(w[6 * k], w[6 * k + 1], w[6 * k + 2]) * at(s); });
    add("Energy", "J", ["kinetic", "potential", "both"], (s, k) => [s.told.kinetic, s.told.potential, s.told.kinetic + s.told.potential][k] * at(s));
    if (app.mode === "run") { const one = groups.findIndex((g) => g.title === "Position"); groups.unshift(...groups.splice(one, 1)); }
    return groups;
  }

  make() {
    const { app } = this, groups = this.groups();
    this.fill(groups);
    const same = this.plot && groups.length && this.plot.mode === app.mode ? groups.findIndex((g) => g.title === this.plot.group.title && g.unit === this.plot.group.unit) : -1;
    if (same >= 0 && this.plot.groups.length === groups.length) {
      this.plot.groups.forEach((g, k) => { g.data = groups[k].data; g.read = groups[k].read; });
      this.plot.times = this.times;
      return;
    }
    this.plot = groups.length ? new LivePlot(groups, this.times, (t) => { app.playing = false; app.bar.update(); app.seek(t); app.refresh(); }, app.units) : null;
    if (this.plot) this.plot.mode = app.mode;
    this.node.replaceChildren(...(this.plot ? [this.plot.node, this.takeAway()] : [element("p", { className: "hint", textContent: "Turn a motor, or let the robot go: curves of torques, forces and energy appear here." })]));
  }

  fill(groups) {
    const moments = this.app.moments();
    this.times = Float64Array.from(moments, (s) => s.t);
    for (const group of groups) {
      group.data = new Float32Array(group.names.length * moments.length);
      group.names.forEach((_, k) => moments.forEach((s, i) => { group.data[k * moments.length + i] = group.read(s, k); }));
    }
  }

  // Draw them; those of a simulation have grown.
  draw() {
    const { app, plot } = this;
    if (!plot) return;
    if (app.mode === "run") { this.fill([plot.group]); plot.times = this.times; }
    plot.draw(app.time, false);
  }

  takeAway() {
    const button = (text, act) => this.app.design.button(text, act);
    return element("div", { className: "actions" }, button("Table (CSV)", () => this.save()), button("Picture (PNG)", () => this.app.savePicture()));
  }

  // What is seen, in the units that are shown.
  table() {
    const quoted = (name) => (/[",\n]/.test(name) ? `"${name.replace(/"/g, '""')}"` : name);
    this.fill(this.plot.groups);
    const { units } = this.app;
    const column = (g, k) => g.data.subarray(k * this.times.length, (k + 1) * this.times.length), factor = (g) => units.shown(1, g.unit);
    const columns = this.plot.groups.flatMap((g) => g.names.map((name, k) => [quoted(`${g.title}: ${name} [${units.label(g.unit)}]`), Array.from(column(g, k), (x) => Number((x * factor(g)).toPrecision(7)))]));
    return [["t [s]", ...columns.map(([name]) => name)].join(","), ...Array.from(this.times, (t, i) => [t, ...columns.map(([, x]) => x[i])].join(","))].join("\n");
  }

  save() {
    const url = URL.createObjectURL(new Blob([this.table()], { type: "text/csv" }));
    download("curves.csv", url);
    setTimeout(() => URL.revokeObjectURL(url), 1000);
  }
}

function download(name, url) { element("a", { href: url, download: name }).click(); }
