// Curves of what was computed, one below the other or side by side, with a needle at the moment that is seen; gray while
// they are of numbers that have changed since.

const OLD_CURVES = "#98a2ae";
const SHOWN_AT_FIRST = { motion: ["Torque of motors", "Force of motors", "What makes", "Forces in joints"], simulation: ["Position", "Torque of motors", "Force of motors", "Energy: where"] };
const MOST_AT_FIRST = 3;

class RunPlot extends LivePlot {
  color(k) { return this.isOld ? OLD_CURVES : super.color(k); }

  tell() {
    super.tell();
    if (this.compared) this.compared.remove();
    this.compared = this.group.beside ? comparison(this, this.units) : null;
    if (!this.compared) return;
    this.peaks.hidden = true;
    this.node.append(this.compared);
  }

  // Show other curves of the same names.
  renew(groups, times) {
    this.groups.forEach((group, k) => Object.assign(group, { data: groups[k].data, beside: groups[k].beside }));
    this.times = times;
  }
}

class CurveStack {
  constructor(node, desk) {
    Object.assign(this, { node, desk, plots: [], kept: {} });
    this.list = element("div", { className: "stack" });
    this.motors = element("div", { className: "motors" });
    this.notes = element("p", { className: "hint notes" });
    node.append(this.notes, this.list, this.motors);
  }

  show(kind, result) {
    const groups = result.groups.map((group) => ({ ...group, beside: this.beside(group, result) }));
    const key = JSON.stringify([kind, ...groups.map((group) => [group.title, group.unit, group.names])]);
    this.notes.textContent = result.notes.join("\n");
    if (key === this.key && this.app === this.desk.app) for (const plot of this.plots) plot.renew(groups, result.time);
    else this.make(kind, groups, result.time);
    Object.assign(this, { key, kind, app: this.desk.app });
    this.old(false);
    this.tellMotors(result);
  }

  // The same curves of the design beside this one, by their names.
  beside(group, { beside, time }) {
    const other = beside && beside.count === time.length && beside.groups.find((own) => own.title === group.title && own.unit === group.unit);
    if (!other) return undefined;
    const found = new Float64Array(group.data.length).fill(NaN), count = time.length;
    group.names.forEach((name, k) => { const i = other.names.indexOf(name); if (i >= 0) found.set(other.data.subarray(i * count, (i + 1) * count), k * count); });
    return found;
  }

  make(kind, groups, times) {
    const wanted = this.kept[kind] || SHOWN_AT_FIRST[kind].map((start) => (groups.find((group) => group.title.startsWith(start)) || {}).title).filter(Boolean).slice(0, MOST_AT_FIRST);
    const found = wanted.filter((title) => groups.some((group) => group.title === title));
    this.plots = [];
    const more = choice("More curves", [["", "+ Curves …"], ...groups.map((group) => [group.title])], "", (title) => { more.value = ""; if (title) { this.add(groups, times, title); this.keep(kind); this.draw(); } });
    this.list.replaceChildren();
    for (const title of found.length ? found : [groups[0].title]) this.add(groups, times, title);
    this.list.append(element("div", { className: "actions" }, more, button("Table (CSV)", () => saveText(`${this.desk.told.name}-${kind}.csv`, this.table(), "text/csv"))));
    this.kindOf = kind;
  }

  add(groups, times, title) {
    const { app } = this.desk, own = groups.map((group) => ({ ...group }));
    const plot = new RunPlot(own, times, (t) => { if (app.mode !== "shown") this.desk.runs.replay(); app.playing = false; app.bar.update(); app.seek(t); app.refresh(); }, app.units);
    plot.select.value = Math.max(own.findIndex((group) => group.title === title), 0);
    plot.select.onchange();
    plot.select.addEventListener("change", () => this.keep(this.kindOf));
    const close = button("×", () => { this.plots = this.plots.filter((other) => other !== plot); plot.node.remove(); this.keep(this.kindOf); }, { className: "plain", title: "Close these curves" });
    plot.select.after(close);
    plot.node.className = "one";
    this.plots.push(plot);
    this.list.insertBefore(plot.node, this.list.querySelector(":scope > .actions"));
  }

  keep(kind) { this.kept[kind] = this.plots.map((plot) => plot.group.title); }

  old(is) { for (const plot of this.plots) plot.isOld = is; this.node.classList.toggle("old", is); this.draw(); }

  draw() {
    const { app } = this.desk;
    if (!app) return;
    for (const plot of this.plots) plot.draw(app.time, app.mode !== "shown");
  }

  // What each motor has to give.
  tellMotors({ table, beside }) {
    const { units } = this.desk, heads = ["", "peak", "rms", "fastest", "power", "work"];
    const row = (own, name) => element("tr", {}, element("td", { textContent: name }), ...[[own.peak, own.unit], [own.rms, own.unit], [own.speed, own.speedUnit], [own.power, "W"], [own.work, "J"]].map(([x, unit]) => element("td", { textContent: `${short(units.shown(x, unit), 3)} ${units.label(unit)}` })));
    const rows = table.flatMap((own) => { const other = beside && beside.table.find((b) => b.name === own.name); return [row(own, own.name), ...(other ? [row(other, `${own.name}, B`)] : [])]; });
    this.motors.replaceChildren(...(rows.length ? [element("h4", { textContent: "What the motors must give" }), element("div", { className: "scroll" }, element("table", { className: "compared" }, element("tr", {}, ...heads.map((text) => element("th", { textContent: text }))), ...rows))] : []));
    this.told = { table, beside };
  }

  // All curves as a table, in the units that are shown.
  table() {
    const { units } = this.desk, [{ groups, times }] = this.plots.length ? this.plots : [{ groups: [], times: [] }];
    const quoted = (name) => (/[",\n]/.test(name) ? `"${name.replace(/"/g, '""')}"` : name);
    const columns = groups.flatMap((g) => g.names.map((name, k) => [quoted(`${g.title}: ${name} [${units.label(g.unit)}]`), g.data.subarray(k * times.length, (k + 1) * times.length), g.unit]));
    return [["t [s]", ...columns.map(([name]) => name)].join(","), ...Array.from(times, (t, i) => [t, ...columns.map(([, x, unit]) => units.shown(x[i], unit))].join(","))].join("\n");
  }
}
