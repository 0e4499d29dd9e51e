// The page: a robot that is moved by hand, turned by a motor, or let go; every number is computed here.

const TURN_SAMPLES = 180;
const UPDATES = 12;              // how often a second numbers and curves follow: pictures come first
const HELD = "point held last";
const LEAST_PULL = 0.01;         // of the robot's size: less is a click

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
    this.turnable = facts.joints.filter((j) => j.independent && (j.motor || !facts.driven));
    this.turning = this.turnable.find((j) => j.name === facts.turn) || this.turnable[0];
    this.letGo = new LetGo(this);
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
    this.curves = new LiveCurves(this);
    this.panel = new LivePanel(document.getElementById("panel"), this);
    this.bar = new LiveBar(document.getElementById("bar"), this);
    this.makeCurves();
    this.sizes = new ResizeObserver(() => this.redraw());
    this.sizes.observe(stage);
    this.ending = new AbortController();
    const { signal } = this.ending;
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.redraw(), { signal });
    addEventListener("keydown", (e) => this.key(e), { signal });
    this.units.listeners.push(() => this.refresh());
    if (facts.turn && !this.waits) this.startTurn(facts.joints.find((j) => j.name === facts.turn), false);
    document.body.classList.toggle("waits", this.waits);
    this.refresh();
  }

  // Whether the code is still being made: the robot is seen, but not moved.
  get waits() { return Boolean(this.engine.still); }

  // Begin to compute, with code that was made since.
  engage(engine) {
    this.engine = this.mechanism.engine = engine;
    document.body.classList.remove("waits");
    this.seePose();
    this.usualForce = this.typicalForce();
    const { turn } = this.facts;
    if (turn) this.startTurn(this.facts.joints.find((j) => j.name === turn), false);
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
    else if (this.mode === "run") this.letGo.join();
    else this.seePose();
    this.refresh();
  }

  // ---------------------------------------------------------------- the pose

  get knows() { return this.told.quality >= 1; }
  get speed() { return this.bar.speed.value; }
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

  // A body is taken; whether its point is only looked at, or pulled, is seen when the pointer moves or not.
  grab(held) {
    held.point = scaled(held.local, this.scene.main.stretch(held.body));
    const { points } = this.scene.main;
    if (!(HELD in points)) this.panel.trailOf.append(element("option", { value: HELD, textContent: "path of the point held last" }));
    points[HELD] = { body: held.body, point: held.local };
    this.pathKey = "";
    this.refresh();
  }

  pull(held) {
    if (this.pulling) return;
    if (!held.pulled) {
      if (!held.first) held.first = held.target;
      if (norm(sub(held.target, held.first)) < LEAST_PULL * this.show.size) return;
      held.pulled = true;
      this.toPose();
    }
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

  // Something other than a body that the pointer can take hold of, if there is any.
  handleUnder() { return null; }

  drop(held) {
    this.say("");
    if (!held.pulled) this.trace(held);
    this.refresh();
  }

  // A point that was clicked: its path is drawn, and where it is on its body is said.
  trace(held) {
    this.panel.trailOf.value = HELD;
    const { main } = this.scene, at = held.point.map((x) => short(this.units.shown(x, "m"), 3)).join(", ");
    this.saying = null;
    this.say(`Path of the point at ${at} ${this.units.label("m")} on ${main.bodies[held.body]}${this.mode === "pose" && !this.wholeTurn() ? ": turn a motor, or let the robot go" : ""}`);
  }

  // One turn of a mechanism with one freedom, for paths while it stands still; null for others.
  wholeTurn() {
    const { independent } = this.facts, joint = this.turnable[0], key = this.p.join();
    if (this.waits || independent.length !== 1 || !joint) return null;
    if (this.wholeKey !== key) [this.wholeKey, this.whole] = [key, this.mechanism.turn(this.q, joint, 1, TURN_SAMPLES)];
    return this.whole;
  }
  restart() {
    this.toPose();
    this.q = this.mechanism.close(this.first) || this.q;
    this.say("");
    this.seePose();
    this.refresh();
  }

  // ---------------------------------------------------------------- one turn of a motor

  startTurn(joint, playing, time = 0) {
    const turn = this.mechanism.turn(this.mode === "turn" ? this.turnStart : this.q, joint, this.speed, TURN_SAMPLES);
    if (this.mode !== "turn") this.turnStart = this.q;
    const told = this.mechanism.motions(turn.states), share = this.turn && this.mode === "turn" ? time / this.turn.period : 0;
    Object.assign(this, { mode: "turn", turning: joint, turn, playing, time: share * turn.period });
    this.turned = told;
    this.makeCurves();
    this.seek(this.time);
    this.bar.update();
    this.saying = joint;
    this.say(turn.whole ? "" : `${joint.label} cannot turn round: it goes to and fro from {${turn.low}} to {${turn.high}}`);
  }

  seek(time) {
    if (this.mode === "turn") {
      this.time = ((time % this.turn.period) + this.turn.period) % this.turn.period;
      const k = Math.round((this.time / this.turn.period) * TURN_SAMPLES);
      this.told = this.turned[k];
      this.see(this.turn.states[k].q);
    } else if (this.mode === "run" && this.letGo.samples.length) {
      const sample = this.letGo.at(time);
      this.playing = false;
      this.time = sample.t;
      this.letGo.see(sample);
    }
    this.redraw();
  }

  // ---------------------------------------------------------------- let go

  startRun(fresh = true) {
    this.letGo.begin(fresh);
    Object.assign(this, { mode: "run", time: 0, path: null });
    this.letGo.take();
    this.makeCurves();
    this.bar.update();
  }

  // Back to where it was let go, or to the beginning of the turn.
  reset() {
    if (this.mode === "run") { this.startRun(false); this.playing = false; } else if (this.mode === "turn") { this.playing = false; this.seek(0); }
    this.refresh();
  }

  play(playing) {
    if (this.mode === "pose") this.startRun();
    const { last } = this.letGo;
    if (this.mode === "run" && playing && last && this.time < last.t) { this.time = last.t; this.letGo.see(last); }
    this.playing = playing;
    this.before = undefined;
    this.say("");
    this.bar.update();
    this.redraw();
  }

  // ---------------------------------------------------------------- curves and paths

  makeCurves() { this.curves.make(); }
  get plot() { return this.curves.plot; }

  // What a turn or a simulation consists of.
  moments() {
    if (this.mode === "turn") return this.turn.states.map((s, k) => ({ t: (k / TURN_SAMPLES) * this.turn.period, q: s.q, told: this.turned[k] }));
    return this.mode === "run" ? this.letGo.samples : [];
  }

  // The path of a point so far, or over a whole turn.
  drawnPath() {
    const place = this.scene.main.points[this.panel.trailOf.value];
    const turn = place && this.mode === "pose" ? this.wholeTurn() : this.turn;
    if (!place || !turn && this.mode !== "run") return null;
    const moments = this.mode === "pose" ? turn.states : this.moments(), every = Math.max(1, Math.ceil(moments.length / MOST_TRAIL)), path = [], key = `${this.panel.trailOf.value} ${this.mode}`;
    if (this.pathOf !== turn || this.mode === "run" || this.pathKey !== key) {
      const point = scaled(place.point, this.stretched[place.body + 1]);
      for (let k = 0; k < moments.length; k += every) path.push(this.mechanism.pointAt(moments[k].q, place.body, point));
      const segments = [];
      for (let k = 1; k < path.length; k++) segments.push(...path[k - 1], ...path[k]);
      [this.pathOf, this.pathKey, this.pathKept] = [turn, key, new Float32Array(segments)];
    }
    return this.pathKept;
  }

  // ---------------------------------------------------------------- pictures

  key(e) {
    if (["INPUT", "SELECT", "BUTTON"].includes(e.target.tagName)) return;
    if (e.key === " ") { e.preventDefault(); this.play(!this.playing); }
  }

  refresh() {
    if (!this.bar) return;
    this.panel.update();
    this.design.update();
    this.curves.draw();
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
      else if (this.mode === "run" && !this.letGo.go(seconds)) {
        this.playing = false;
        this.saying = null;
        this.say("The run ends here: the mechanism is at a dead point, or too fast for this step.");
        this.bar.update();
      }
      this.redraw();
    } else this.before = undefined;
    this.picture(...this.pixels());
    if (now - this.updated > 1000 / UPDATES) { this.updated = now; this.refresh(); }
    this.drawn = true;
  }

  savePicture() { this.picture(...this.pixels()); download("robot.png", this.scene.canvas.toDataURL("image/png")); }

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
