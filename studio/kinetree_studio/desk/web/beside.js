// A second design beside the first: its ghost at the same pose, and its curves, dashed, with their peaks.

class Beside {
  static async of(name, show) {
    const { code, functions } = LAWS.get(show.compute.laws);
    return new Beside(name, show, await Engine.of(code, functions));
  }

  constructor(name, show, engine) {
    Object.assign(this, { name, show });
    const { facts } = this, p = new Float64Array(facts.numbers.length + 4 * facts.drives.length);
    facts.size = show.size;
    facts.numbers.forEach(([factor, powers], k) => { p[k] = powers.reduce((x, [slider, power]) => x * facts.sliders[slider].value ** power, factor); });
    this.mechanism = new Mechanism(engine, facts, p);
    this.q = Float64Array.from(facts.q);
  }

  get facts() { return this.show.compute; }

  // The configuration of this design that has the positions of another's joints, closed.
  like(app, q) {
    const own = Float64Array.from(this.q);
    for (const joint of this.facts.joints) {
      const other = app.facts.joints.find((j) => j.name === joint.name);
      if (other) own[joint.q] = q[other.q];
    }
    const independent = this.facts.joints.filter((j) => j.independent).map((j) => j.v);
    return this.mechanism.close(own, this.mechanism.reach.map((w, j) => (independent.includes(j) ? 0 : w))) || this.mechanism.close(own);
  }

  follow(app, ghost, q, own = this.like(app, q)) {
    if (!own) return;
    this.q = own;
    const seen = this.mechanism.look(own);
    ghost.now.set(seen.poses);
    ghost.com = [...seen.com];
  }

  // Curves of the same turn, in the order of the first design's curves; NaN where this design has none.
  curves(app, groups) {
    const joint = this.facts.joints.find((j) => j.name === app.turning.name);
    const start = joint && this.like(app, app.turnStart);
    if (!start) return;
    const turn = this.mechanism.turn(start, joint, app.speed, TURN_SAMPLES), told = this.mechanism.motions(turn.states);
    const moments = turn.states.map((s, k) => ({ q: s.q, told: { ...told[k], quality: this.facts.driven ? told[k].quality : 0 } }));
    const column = (list, name) => list.findIndex((x) => x.label === name || x === name);
    for (const group of groups) {
      const read = this.reader(group);
      group.beside = new Float32Array(group.names.length * moments.length).fill(NaN);
      group.names.forEach((name, k) => moments.forEach((s, i) => { const y = read(s, name, column); if (y !== undefined) group.beside[k * moments.length + i] = s.told.quality >= 1 ? y : NaN; }));
    }
  }

  reader({ title }) {
    const { facts } = this, joint = (name) => facts.joints.find((j) => j.label === name);
    if (title === "Torque of motors") return (s, name) => joint(name) && s.told.tau[joint(name).v];
    if (title === "Position") return (s, name) => joint(name) && s.q[joint(name).q];
    if (title === "Velocity") return (s, name) => joint(name) && s.told.v[joint(name).v];
    if (title === "Forces in joints") return (s, name) => { const k = facts.pins.indexOf(name), w = s.told.wrenches; return k < 0 ? undefined : Math.hypot(w[6 * k], w[6 * k + 1], w[6 * k + 2]); };
    return (s, name) => ({ kinetic: s.told.kinetic, potential: s.told.potential, both: s.told.kinetic + s.told.potential })[name];
  }
}

// Peaks and means of squares of the curves that are shown, of both designs.
function comparison(plot, units) {
  const { group } = plot, count = plot.times.length;
  const told = (data, k) => {
    const known = [...data.subarray(k * count, (k + 1) * count)].filter(Number.isFinite);
    if (!known.length) return ["–", "–"];
    const peak = Math.max(...known.map(Math.abs)), rms = Math.sqrt(known.reduce((sum, y) => sum + y * y, 0) / known.length);
    return [peak, rms].map((x) => short(units.shown(x, group.unit), 3));
  };
  const rows = [...plot.chosen.get(group)].sort((a, b) => a - b).map((k) => element("tr", {}, element("td", { textContent: group.names[k] }), ...[told(group.data, k), told(group.beside, k)].flat().map((text) => element("td", { textContent: text }))));
  const head = element("tr", {}, element("th", { textContent: `[${units.label(group.unit)}]` }), ...["peak", "rms", "peak B", "rms B"].map((text) => element("th", { textContent: text })));
  return element("table", { className: "compared" }, head, ...rows);
}
