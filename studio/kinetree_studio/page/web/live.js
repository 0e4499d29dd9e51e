// The page: a robot that is moved by hand, turned by a motor, or let go; every number is computed here.

const TURN_SAMPLES = 180;
const UPDATES = 12;              // how often a second numbers and curves follow: pictures come first
const LONGEST_RUN = 4000;        // samples of a run that curves show
const SAMPLE = 1 / 60;           // seconds between two of them
const HELD = "point held last";
const MOST_BEHIND = 0.1;         // seconds that a run catches up with at most in one picture

// A robot whose poses are computed; lengths stretch its bodies.
class ComputedRobot extends ShownRobot {
  stretch(body) { return this.stretched ? this.stretched[body + 1] : 1; }
  matrix(body) {
    const m = poseMatrix(this.pose(body)), s = this.stretch(body);
    if (s !== 1) for (let k = 0; k < 12; k++) m[k] *= s;
    return m;
  }
  point(at) { return placed(this.pose(at.body), scaled(at.point, this.stretch(at.body))); }
  centerOfMass() { return this.com; }
  seek() {}
}

class LiveScene extends Scene {
  constructor(canvas, show, app) {
    super(canvas, show);
    this.app = app;
  }

  shown(data) { return new ComputedRobot(this.renderer, data); }

  // Arrows of the forces that joints transmit to the bodies that they carry, and a line to the pointer that pulls.
  wrenches(robot) {
    const { app } = this, list = [];
    const { held } = app.grip;
    if (held && held.target) {
      const from = placed(robot.pose(held.body), held.point), rod = this.rod(from, held.target, 0.35 * this.radius, [0.95, 0.55, 0.1, 1]);
      if (rod) list.push(rod);
    }
    if (!this.show.shown.forces || !app.knows || !app.hasForces) return list;
    const w = app.told.wrenches, { facts } = app;
    facts.pins.forEach((_, k) => {
      if (!facts.pinKinds[k]) return;
      const force = [...w.subarray(6 * k, 6 * k + 3)], loop = facts.loops[k - robot.count];
      const start = loop ? robot.point(loop) : robot.point({ body: k, point: [0, 0, 0] });
      if (!(norm(force) > 1e-3 * app.usualForce)) return;
      list.push(...this.arrow(start, add(start, scaled(force, Math.min((0.25 * this.show.size) / app.usualForce, (0.6 * this.show.size) / norm(force)))), 0.6 * this.radius, FORCE_COLOR));
    });
    return list;
  }

  trail() { return this.app.path || new Float32Array(0); }
}

class LivePage {
  constructor(show, engine) {
    Object.assign(this, { show, engine, facts: show.compute, mode: "pose", playing: false, time: 0, pace: 1, drawn: false, updated: 0 });
    const { facts } = this;
    facts.size = show.size;
    this.still = new URLSearchParams(location.search).has("still");
    this.first = Float64Array.from(facts.q);
    this.q = this.first;
    this.values = facts.sliders.map((s) => s.value);
    this.drive = [0, 1, 2, 3].map(() => new Float64Array(facts.drives.length));
    this.p = new Float64Array(facts.numbers.length + 4 * facts.drives.length);
    this.mechanism = new Mechanism(engine, facts, this.p);
    this.zero = new Float64Array(facts.nv);
    this.write();
    this.units = new Units(show.units);
    if (facts.everyday) { this.units.chosen = 1; this.units.select.value = 1; }
    show.shown.forces = false;
    const canvas = document.getElementById("scene"), stage = document.getElementById("stage");
    this.scene = this.makeScene(canvas, show);
    this.orbit = new Orbit(canvas, show, () => this.redraw());
    this.grip = new Grip(stage, canvas, this);
    this.seePose();
    this.usualForce = this.typicalForce();
    this.design = new Design(document.getElementById("design"), this);
    this.makePanel(document.getElementById("panel"));
    this.makeBar(document.getElementById("bar"));
    this.sizes = new ResizeObserver(() => this.redraw());
    this.sizes.observe(stage);
    this.ending = new AbortController();
    const { signal } = this.ending;
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.redraw(), { signal });
    addEventListener("keydown", (e) => this.key(e), { signal });
    this.units.listeners.push(() => this.refresh());
    if (facts.turn) this.startTurn(facts.joints.find((j) => j.name === facts.turn), false);
    this.refresh();
  }

  makeScene(canvas, show) { return new LiveScene(canvas, show, this); }

  // Leave the page to another robot.
  end() {
    this.ended = true;
    this.ending.abort();
    this.sizes.disconnect();
    const free = this.scene.renderer.gl.getExtension("WEBGL_lose_context");
    if (free) free.loseContext();
  }

  say(text) {
    const unit = this.saying ? this.saying.unit : "rad";
    const words = text.replace(/\{([^}]*)\}/g, (_, x) => `${short(this.units.shown(Number(x), unit))} ${this.units.label(unit)}`);
    const notice = document.getElementById("notice");
    if (notice.textContent !== words) notice.textContent = words;
  }

  // ---------------------------------------------------------------- numbers

  // Write all numbers, from the sliders, to where the functions read them.
  write() {
    const { facts, p, values } = this;
    facts.numbers.forEach(([factor, powers], k) => { p[k] = powers.reduce((x, [slider, power]) => x * values[slider] ** power, factor); });
    this.drive.forEach((numbers, k) => p.set(numbers, facts.numbers.length + k * facts.drives.length));
    const stretched = new Float64Array(facts.path.length + 1).fill(1);
    facts.sliders.forEach((slider, k) => { for (const body of slider.bodies) stretched[body + 1] = values[k] / slider.value; });
    if (this.scene) this.scene.main.stretched = stretched;
    this.stretched = stretched;
  }

  setNumber(k, value) {
    const slider = this.facts.sliders[k], before = this.values[k];
    this.saying = slider;
    this.values[k] = slider.group === "gravity" || slider.group === "damping" ? value : Math.max(value, slider.group === "lengths" ? 0.05 * slider.value : 0);
    this.write();
    let said = "";
    if (slider.group === "lengths") {
      const closed = this.mechanism.close(this.q);
      if (closed) this.q = closed;
      else {
        said = `with ${slider.name} beyond {${before}} the loops cannot be closed in this pose`;
        this.values[k] = before;
        this.write();
      }
    }
    this.design.sliders[k].set(this.values[k]);
    this.say(said);
    this.changed();
  }

  setDrive(which, k, value) {
    this.drive[which].forEach((_, i) => { if (k < 0 || i === k) this.drive[which][i] = value; });
    (which ? this.design.springs[which - 1] : this.design.motors[k]).set(value);
    this.write();
    this.changed();
  }

  firstNumbers() {
    this.values = this.facts.sliders.map((s) => s.value);
    this.write();
    this.design.sliders.forEach((row, k) => row.set(this.values[k]));
    this.q = this.mechanism.close(this.q) || this.first;
    this.say("");
    this.changed();
  }

  // Numbers changed: what follows from them is computed anew.
  changed() {
    if (this.mode === "turn") this.startTurn(this.turning, this.playing, this.time);
    else if (this.mode === "run") this.joinRun();
    else this.seePose();
    this.refresh();
  }

  // ---------------------------------------------------------------- the pose

  get knows() { return this.told.quality >= 1; }
  get hasForces() { return this.facts.driven || this.mode === "run"; }

  see(q) {
    this.q = q;
    const seen = this.mechanism.look(q), { main } = this.scene;
    main.now.set(seen.poses);
    main.com = [...seen.com];
    main.stretched = this.stretched;
    this.scene.held = null;
  }

  seePose() {
    this.see(this.q);
    this.told = this.mechanism.motion(this.q, this.zero, this.zero);
  }

  typicalForce() {
    const w = this.told.wrenches, sizes = this.facts.pins.map((_, k) => (this.facts.pinKinds[k] ? Math.hypot(w[6 * k], w[6 * k + 1], w[6 * k + 2]) : 0));
    return Math.max(...sizes.filter(Number.isFinite), 1e-9);
  }

  toPose() {
    if (this.mode === "pose") return;
    Object.assign(this, { mode: "pose", playing: false });
    this.path = null;
    this.makeCurves();
    this.bar.update();
  }

  moveJoint(joint, value) {
    this.toPose();
    const { q, said } = this.mechanism.moveJoint(this.q, joint, value);
    this.q = q;
    this.saying = joint;
    this.say(said);
    this.seePose();
    this.design.joints.get(joint).set(q[joint.q]);
    this.refresh();
  }

  grab(held) {
    this.toPose();
    held.point = scaled(held.local, this.scene.main.stretch(held.body));
    const { points } = this.scene.main;
    if (!(HELD in points)) this.trailOf.append(element("option", { value: HELD, textContent: "path of the point held last" }));
    points[HELD] = { body: held.body, point: held.local };
    this.pathKey = "";
    this.refresh();
  }

  pull(held) {
    if (this.pulling) return;
    this.pulling = true;
    requestAnimationFrame(() => { this.pulling = false; if (this.grip.held === held) this.pulled(held); });
  }

  pulled(held) {
    const { q, said } = this.mechanism.drag(this.q, held, held.target);
    this.q = q;
    this.saying = this.facts.joints.find((j) => said.startsWith(j.label)) || null;
    this.say(said);
    this.seePose();
    this.redraw();
  }

  drop() { this.say(""); this.refresh(); }
  restart() {
    this.toPose();
    this.q = this.mechanism.close(this.first) || this.q;
    this.say("");
    this.seePose();
    this.refresh();
  }

  // ---------------------------------------------------------------- one turn of a motor

  startTurn(joint, playing, time = 0) {
    const speed = this.speedRow ? this.speedRow.value : this.facts.speed;
    const turn = this.mechanism.turn(this.mode === "turn" ? this.turnStart : this.q, joint, joint.slides ? speed : speed, TURN_SAMPLES);
    if (this.mode !== "turn") this.turnStart = this.q;
    const told = this.mechanism.motions(turn.states), share = this.turn && this.mode === "turn" ? time / this.turn.period : 0;
    Object.assign(this, { mode: "turn", turning: joint, turn, playing, time: share * turn.period });
    this.turned = told;
    this.makeCurves();
    this.seek(this.time);
    if (this.bar) this.bar.update();
    this.saying = joint;
    this.say(turn.whole ? "" : `${joint.label} cannot turn round: it goes to and fro from {${turn.low}} to {${turn.high}}`);
  }

  seek(time) {
    if (this.mode === "turn") {
      this.time = ((time % this.turn.period) + this.turn.period) % this.turn.period;
      const k = Math.round((this.time / this.turn.period) * TURN_SAMPLES);
      this.told = this.turned[k];
      this.see(this.turn.states[k].q);
    } else if (this.mode === "run" && this.samples.length) {
      const k = Math.min(Math.max(Math.round((time - this.samples[0].t) / this.sampling), 0), this.samples.length - 1), sample = this.samples[k];
      this.playing = false;
      this.time = sample.t;
      this.seeSample(sample);
    }
    this.redraw();
  }

  // ---------------------------------------------------------------- let go

  startRun(fresh = true) {
    const { facts } = this;
    if (fresh) {
      const v = this.mode === "turn" ? Float64Array.from(this.told.v) : this.zero;
      this.start = { q: this.q, v: this.knows ? v : this.zero };
      facts.drives.forEach((body, k) => { this.drive[3][k] = this.q[facts.joints.find((j) => j.body === body).q]; });
      this.write();
    }
    this.state = Float64Array.from([...this.start.q, ...this.start.v, ...new Array(facts.nz).fill(0), ...(this.mechanism.m ? [Infinity] : [])]);
    if (fresh) this.step = facts.step || this.mechanism.goodStep(this.state);
    Object.assign(this, { mode: "run", time: 0, samples: [], behind: 0, path: null });
    this.stride = Math.max(1, Math.round(SAMPLE / this.step));
    this.sampling = this.stride * this.step;
    this.take();
    this.origin = null;
    this.makeCurves();
    this.bar.update();
  }

  // Numbers changed while it runs: close again, with the same independent rates.
  joinRun() {
    const { nq, nv } = this.facts, q = this.mechanism.close(this.state.slice(0, nq)) || this.state.slice(0, nq);
    const { v } = this.mechanism.motion(q, this.state.slice(nq, nq + nv), this.zero);
    this.state.set(q);
    this.state.set(v, nq);
    this.state.fill(0, nq + nv, nq + nv + this.facts.nz);
    this.origin = null;
    this.see(q);
  }

  take() {
    const { nq, nv, nz } = this.facts, { state } = this;
    const told = this.mechanism.state(this.time, state.slice(0, nq), state.slice(nq, nq + nv), state.slice(nq + nv, nq + nv + nz));
    const sample = { t: this.time, q: state.slice(0, nq), told: Object.fromEntries(Object.entries(told).map(([key, x]) => [key, typeof x === "number" ? x : x.slice()])), works: state.slice(nq + nv, nq + nv + nz) };
    this.samples.push(sample);
    if (this.samples.length > LONGEST_RUN) this.samples.shift();
    this.seeSample(sample);
  }

  seeSample(sample) { this.see(sample.q); this.told = sample.told; this.works = sample.works; }

  // How far kinetic and potential energy are from what they were plus the work done.
  balance() {
    const own = this.facts.works.length, works = this.works.slice(this.works.length - own).reduce((a, b) => a + b, 0);
    const total = this.told.kinetic + this.told.potential - works;
    if (this.origin === null || this.origin === undefined) this.origin = total;
    return total - this.origin;
  }

  run(seconds) {
    this.behind = Math.min(this.behind + seconds * this.pace, MOST_BEHIND * Math.max(this.pace, 1));
    while (this.behind >= this.sampling && this.playing) {
      const next = this.mechanism.steps(this.time, this.state, this.step, this.stride);
      if (!next) {
        this.playing = false;
        this.saying = null;
        this.say("The run ends here: the mechanism is at a dead point, or too fast for this step.");
        this.bar.update();
        return;
      }
      this.state = next;
      this.time += this.sampling;
      this.behind -= this.sampling;
      this.take();
      this.balance();
    }
  }

  play(playing) {
    if (this.mode === "pose") this.startRun();
    if (this.mode === "run" && playing && this.samples.length) {
      const last = this.samples[this.samples.length - 1];
      if (this.time < last.t) { this.time = last.t; this.seeSample(last); }
    }
    this.playing = playing;
    this.before = undefined;
    this.say("");
    this.bar.update();
    this.redraw();
  }

  // ---------------------------------------------------------------- curves

  makeCurves() {
    if (!this.curvesNode) return;
    const { facts } = this;
    const groups = [], add = (title, unit, names, read) => { if (names.length) groups.push({ title, unit, names, read, data: new Float32Array(0) }); };
    const by = (title, units, list, read) => { for (const unit of new Set(list.map(units))) { const own = list.filter((x) => units(x) === unit); add(title, unit, own.map((x) => x.label), (s, k) => read(s, own[k])); } };
    const motors = facts.joints.filter((j) => j.motor), at = (x) => (x.told.quality >= 1 ? 1 : NaN);
    if (this.mode !== "pose") {
      if (this.hasForces) by("Torque of motors", (j) => facts.forceUnits[j.v], motors, (s, j) => s.told.tau[j.v] * at(s));
      by("Position", (j) => j.unit, facts.joints, (s, j) => s.q[j.q]);
      by("Velocity", (j) => facts.rateUnits[j.v], facts.joints, (s, j) => s.told.v[j.v] * at(s));
      const pins = facts.pins.map((label, k) => ({ label, k })).filter(({ k }) => facts.pinKinds[k]);
      if (this.hasForces) add("Forces in joints", "N", pins.map((p) => p.label), (s, i) => { const { k } = pins[i], w = s.told.wrenches; return Math.hypot(w[6 * k], w[6 * k + 1], w[6 * k + 2]) * at(s); });
      add("Energy", "J", ["kinetic", "potential", "both"], (s, k) => [s.told.kinetic, s.told.potential, s.told.kinetic + s.told.potential][k] * at(s));
      if (this.mode === "run") { const one = groups.findIndex((g) => g.title === "Position"); groups.unshift(...groups.splice(one, 1)); }
    }
    this.fill(groups);
    const same = this.plot && groups.length && this.plot.mode === this.mode ? groups.findIndex((g) => g.title === this.plot.group.title && g.unit === this.plot.group.unit) : -1;
    if (same >= 0 && this.plot.groups.length === groups.length) {
      this.plot.groups.forEach((g, k) => { g.data = groups[k].data; g.read = groups[k].read; });
      this.plot.times = this.times;
    } else {
      this.plot = groups.length ? new Plot(groups, this.times, (t) => { this.playing = false; this.bar.update(); this.seek(t); this.refresh(); }, this.units) : null;
      if (this.plot) this.plot.mode = this.mode;
      this.curvesNode.replaceChildren(...(this.plot ? [this.plot.node, this.takeAway()] : [element("p", { className: "hint", textContent: "Turn a motor, or let the robot go: curves of torques, forces and energy appear here." })]));
    }
  }

  moments() {
    if (this.mode === "turn") return this.turn.states.map((s, k) => ({ t: (k / TURN_SAMPLES) * this.turn.period, q: s.q, told: this.turned[k] }));
    return this.mode === "run" ? this.samples : [];
  }

  fill(groups) {
    const moments = this.moments();
    this.times = Float64Array.from(moments, (s) => s.t);
    for (const group of groups) {
      group.data = new Float32Array(group.names.length * moments.length);
      group.names.forEach((_, k) => moments.forEach((s, i) => { group.data[k * moments.length + i] = group.read(s, k); }));
    }
  }

  takeAway() {
    const button = (text, act) => this.design.button(text, act);
    return element("div", { className: "actions" }, button("Table (CSV)", () => this.saveTable()), button("Picture (PNG)", () => this.savePicture()));
  }

  save(name, url) { element("a", { href: url, download: name }).click(); }

  table() {
    const quoted = (name) => (/[",\n]/.test(name) ? `"${name.replace(/"/g, '""')}"` : name);
    this.fill(this.plot.groups);
    const columns = this.plot.groups.flatMap((g) => g.names.map((name, k) => [quoted(`${g.title}: ${name} [${g.unit}]`), g.data.subarray(k * this.times.length, (k + 1) * this.times.length)]));
    return [["t [s]", ...columns.map(([name]) => name)].join(","), ...Array.from(this.times, (t, i) => [t, ...columns.map(([, x]) => x[i])].join(","))].join("\n");
  }

  saveTable() {
    const url = URL.createObjectURL(new Blob([this.table()], { type: "text/csv" }));
    this.save("curves.csv", url);
    setTimeout(() => URL.revokeObjectURL(url), 1000);
  }

  savePicture() { this.picture(...this.pixels()); this.save("robot.png", this.scene.canvas.toDataURL("image/png")); }

  // ---------------------------------------------------------------- what surrounds the scene

  makePanel(node) {
    const { show } = this;
    this.now = new Now(this);
    this.curvesNode = element("div");
    this.ticks = new Map();
    const ticks = [["forces", "Forces in joints"], ...SWITCHES.filter(([name]) => name in show.shown && name !== "forces")].map(([name, label]) => {
      const box = element("input", { type: "checkbox", checked: show.shown[name] });
      box.onchange = () => { show.shown[name] = box.checked; this.redraw(); };
      this.ticks.set(name, box);
      return element("label", {}, box, element("span", { textContent: label }));
    });
    const names = Object.keys(this.scene.main.points);
    this.trailOf = element("select", { ariaLabel: "Path of" }, element("option", { value: "", textContent: "no path" }), ...names.map((name) => element("option", { value: name, textContent: `path of ${name}` })));
    this.trailOf.onchange = () => this.redraw();
    node.append(this.now.node, section("Curves", true, this.curvesNode), section("Show", true, element("div", { className: "ticks" }, ...ticks), element("div", { className: "pair" }, this.trailOf), element("label", { className: "pair" }, element("span", { textContent: "Units" }), this.units.select)), element("p", { className: "hint", textContent: "Drag a body to move it. Drag beside it to look around, wheel to zoom. Everything is computed in this page." }));
    this.makeCurves();
  }

  makeBar(node) {
    const { facts } = this, app = this;
    const button = (text, act, more = {}) => { const made = element("button", { type: "button", textContent: text, ...more }); made.onclick = act; return made; };
    const turnable = facts.joints.filter((j) => j.independent && (j.motor || !facts.driven));
    const modes = { pose: button("Pose", () => { this.toPose(); this.seePose(); this.refresh(); }, { title: "Move it by hand" }), turn: button("Turn", () => { this.startTurn(this.turning || turnable[0], true); this.refresh(); }, { title: "Turn a motor at constant speed" }), run: button("Let go", () => { this.startRun(); this.play(true); }, { title: "Simulate from this pose" }) };
    if (!turnable.length) modes.turn.hidden = true;
    const play = button("Play", () => this.play(!this.playing), { className: "main" });
    const reset = button("Reset", () => { if (this.mode === "run") { this.startRun(false); this.playing = false; } else if (this.mode === "turn") { this.playing = false; this.seek(0); } this.refresh(); this.bar.update(); }, { title: "Back to where it was let go" });
    const which = element("select", { ariaLabel: "What turns" }, ...turnable.map((j, k) => element("option", { value: k, textContent: j.label, selected: j.name === facts.turn })));
    which.onchange = () => { this.turning = turnable[which.value]; this.mode = "pose"; this.startTurn(this.turning, this.playing); this.refresh(); };
    this.turning = turnable.find((j) => j.name === facts.turn) || turnable[0];
    this.speedRow = new SliderRow({ label: "speed", unit: "rad/s", value: facts.speed, low: 0.05 * facts.speed, high: 6 * facts.speed, units: this.units, change: (value) => { this.speedRow.set(Math.max(value, 1e-3 * facts.speed)); this.changed(); } });
        const pace = element("select", { ariaLabel: "Pace" }, ...[0.1, 0.25, 0.5, 1, 2, 4].map((s) => element("option", { value: s, textContent: `${s}×`, selected: s === 1 })));
    pace.onchange = () => { this.pace = Number(pace.value); };
    const clock = element("output"), gap = element("span", { className: "grow" });
    const home = button("⌂", () => { this.orbit.reset(); this.redraw(); }, { title: "See the whole robot", ariaLabel: "Reset view" });
    const panel = button("☰", () => { document.body.classList.toggle("alone"); this.redraw(); }, { title: "Show or hide the panels", ariaLabel: "Panels" });
    node.append(element("div", { className: "modes", role: "group", ariaLabel: "What it does" }, modes.pose, modes.turn, modes.run), play, reset, which, this.speedRow.node, gap, clock, pace, element("span", {}, home, " ", panel));
    this.bar = {
      update() {
        for (const [name, made] of Object.entries(modes)) made.setAttribute("aria-pressed", app.mode === name);
        for (const made of [play, clock]) made.hidden = app.mode === "pose";
        for (const made of [reset, pace]) made.hidden = app.mode !== "run";
        which.hidden = app.mode !== "turn" || turnable.length < 2;
        which.value = turnable.indexOf(app.turning);
        app.speedRow.node.hidden = app.mode !== "turn";
        gap.hidden = app.mode === "turn";
        play.textContent = app.playing ? "Pause" : "Play";
        clock.textContent = `${app.time.toFixed(2)} s`;
      },
    };
    this.bar.update();
  }

  key(e) {
    if (["INPUT", "SELECT", "BUTTON"].includes(e.target.tagName)) return;
    if (e.key === " ") { e.preventDefault(); this.play(!this.playing); }
  }

  // The path of a point so far, or over a whole turn.
  drawnPath() {
    const place = this.scene.main.points[this.trailOf ? this.trailOf.value : ""];
    if (!place || this.mode === "pose") return null;
    const moments = this.moments(), every = Math.max(1, Math.ceil(moments.length / MOST_TRAIL)), path = [], key = `${this.trailOf.value} ${this.mode}`;
    if (this.pathOf !== this.turn || this.mode === "run" || this.pathKey !== key) {
      const point = scaled(place.point, this.stretched[place.body + 1]);
      for (let k = 0; k < moments.length; k += every) path.push(this.mechanism.pointAt(moments[k].q, place.body, point));
      const segments = [];
      for (let k = 1; k < path.length; k++) segments.push(...path[k - 1], ...path[k]);
      [this.pathOf, this.pathKey, this.pathKept] = [this.turn, key, new Float32Array(segments)];
    }
    return this.pathKept;
  }

  // ---------------------------------------------------------------- pictures

  refresh() {
    if (!this.now) return;
    this.now.update();
    this.design.update();
    for (const [name, box] of this.ticks) box.checked = this.show.shown[name];
    if (this.plot) {
      if (this.mode === "run") { this.fill([this.plot.group]); this.plot.times = this.times; }
      this.plot.draw(this.time, false);
    }
    this.bar.update();
    this.redraw();
  }

  redraw() {
    if (this.asked || this.still || this.ended) return;
    this.asked = true;
    requestAnimationFrame((now) => { this.asked = false; if (!this.ended) this.frame(now); });
  }

  pixels() {
    const { canvas } = this.scene, ratio = Math.min(window.devicePixelRatio || 1, 2);
    return [Math.max(1, Math.round(canvas.clientWidth * ratio)), Math.max(1, Math.round(canvas.clientHeight * ratio)), ratio];
  }

  frame(now) {
    if (this.playing) {
      const seconds = this.before === undefined ? 0 : Math.min((now - this.before) / 1000, 0.5);
      this.before = now;
      if (this.mode === "turn") this.seek(this.time + this.pace * seconds);
      else if (this.mode === "run") this.run(seconds);
      this.redraw();
    } else this.before = undefined;
    this.picture(...this.pixels());
    if (now - this.updated > 1000 / UPDATES) { this.updated = now; this.refresh(); }
    this.drawn = true;
  }

  picture(width, height, ratio) {
    this.path = this.drawnPath();
    this.show.trails = this.path ? [""] : [];
    this.scene.draw(width, height, ratio, this.orbit, palette());
  }
}

// What tests and Python call.
const kinetree = {
  app: null,
  problem: "",
  picture(width, height, time, type) { kinetree.app.picture(width, height, Math.max(1, Math.min(width, height) / 800)); return kinetree.app.scene.canvas.toDataURL(type, 0.93); },
  settle() { kinetree.app.frame(performance.now()); return true; },
};
window.kinetree = kinetree;
