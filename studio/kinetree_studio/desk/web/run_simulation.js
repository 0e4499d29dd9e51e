// What a simulation is made of: where it begins, what moves the robot, what it stands on, and how it is stepped.

const CONTROLLER_WORDS = { none: "nothing", "gravity compensation": "gravity only", "PD with gravity": "PD + gravity" };
const WHAT_IT_DOES = {
  none: "It moves by itself.", PD: "A spring and a damper at each motor pull toward what is wanted.", "PD with gravity": "A spring and a damper at each motor, and the weight is held.",
  PID: "A spring, a damper, and a memory of the error at each motor.", "computed torque": "What the motion takes by the robot's own equations, and a spring and damper for errors.",
  "gravity compensation": "The weight is held, no more: push it and it drifts.", LQR: "The best linear feedback near a pose that is at rest by itself or by its motors.",
};
const METHOD_WORDS = { adaptive: "step chosen by itself", "adaptive, stiff": "the same, for stiff ones", "Runge-Kutta": "fixed step, Runge-Kutta", implicit: "fixed step, implicit" };
const GROUND_WORDS = { none: "no ground", plane: "a plane under its points", shapes: "what its shapes touch" };
const FOLLOWING = ["PD", "PD with gravity", "PID", "computed torque"];

class SimulationForm {
  constructor(panel) {
    Object.assign(this, { panel, doing: "Simulate", set: null });
    this.node = element("div", { className: "form" });
  }

  get desk() { return this.panel.desk; }
  get units() { return this.desk.units; }

  forget() { Object.assign(this, { set: null, start: null, goal: null }); }

  begin(last) {
    if (this.set) last = null;  // what is set up here is what was computed last, or newer
    const { offers, desk: { app } } = this.panel, { facts } = app;
    const usual = { controller: offers.motors.length ? "PD with gravity" : "none", follow: offers.joints.length && !offers.floating ? "motion" : "pose", on_motion: offers.joints.length > 0 && !offers.floating, seconds: 2, step: 0.001, method: "adaptive", ground: "none", height: offers.low, slope: 0, friction: 0.7, stiffness: 1e5, stops: false, rubs: true, gains: {} };
    const known = last || this.set || {};
    this.set = { ...usual, ...known };
    if (last) {
      this.set.follow = last.motion || !FOLLOWING.includes(last.controller) ? "motion" : "pose";
      this.set.gains = { [last.controller]: { kp: [...last.kp], kd: [...last.kd], ki: [...last.ki] } };
    }
    const fits = (q) => q && q.length === facts.nq;
    this.start = fits(last && last.q) ? Float64Array.from(last.q) : fits(this.start) ? app.mechanism.close(this.start) || app.q : app.q;
    this.goal = fits(last && last.goal) ? Float64Array.from(last.goal) : fits(this.goal) ? this.goal : this.start;
    if (!offers.controllers.includes(this.set.controller)) this.set.controller = "none";
    if (!offers.grounds.includes(this.set.ground)) this.set.ground = "none";
    this.make();
  }

  get gains() {
    const { set, panel: { offers } } = this, count = offers.motors.length, own = set.gains[set.controller];
    if (own && own.kp.length && [1, count].includes(own.kp.length)) return own;
    const some = (x) => offers.motors.map(() => x);
    const usual = { "computed torque": { kp: [100], kd: [20], ki: [] }, LQR: { kp: [10], kd: [1], ki: [1] } }[set.controller] || { kp: offers.gains.kp.length ? [...offers.gains.kp] : some(100), kd: offers.gains.kd.length ? [...offers.gains.kd] : some(20), ki: offers.gains.kp.length ? [...offers.gains.kp] : some(10) };
    return (set.gains[set.controller] = usual);
  }

  get hasGains() { return !["none", "gravity compensation"].includes(this.set.controller); }
  get follows() { return FOLLOWING.includes(this.set.controller) && this.set.follow === "motion"; }

  content() {
    const { set, panel } = this, { app } = this.desk, motion = this.follows || set.on_motion ? panel.forms.motion.content() : null;
    if (app.mode === "pose" && !set.on_motion) this.start = app.q;
    const gains = this.hasGains ? this.gains : { kp: [], kd: [], ki: [] };
    const keys = ["seconds", "step", "controller", "ground", "height", "slope", "friction", "stiffness", "stops", "rubs", "method"];
    const q = [...(app.mechanism.close(this.start) || this.start)];
    return { kind: "simulation", q, v: new Array(app.facts.nv).fill(0), goal: [...this.goal], motion: this.follows || (set.on_motion && motion) ? motion : null, on_motion: set.on_motion, ...gains, ki: set.controller === "PID" || set.controller === "LQR" ? gains.ki : [], ...Object.fromEntries(keys.map((key) => [key, set[key]])), values: panel.values() };
  }

  problem(where, text) {
    for (const [place, node] of Object.entries(this.told)) node.textContent = place === where ? text : "";
    if (!(where in this.told)) this.told.simulation.textContent = text;
  }

  change(key, value) { this.set[key] = value; this.make(); this.panel.changed(); }

  // A number with a unit that is typed.
  typed(label, key, unit, title = "") {
    const { units, set } = this, made = element("input", { value: short(units.shown(set[key], unit), 6), ariaLabel: label, inputMode: "decimal" });
    made.onchange = () => { const found = TYPED.exec(made.value.trim().replace(",", ".")); if (found) this.change(key, Number(found[1]) * (found[2] ? TO_SI[found[2].toLowerCase()] : 1 / units.shown(1, unit))); else { made.classList.add("wrong"); this.told.simulation.textContent = `${label}: "${made.value}" is not a number.`; } };
    made.onkeydown = (e) => { if (e.key === "Enter") made.blur(); };
    return element("div", { className: "field", title }, element("label", { textContent: unit ? `${label} [${units.label(unit)}]` : label }), made);
  }

  tick(label, key) {
    const made = element("input", { type: "checkbox", checked: this.set[key] });
    made.onchange = () => this.change(key, made.checked);
    return element("label", { className: "tick" }, made, element("span", { textContent: label }));
  }

  choose(label, key, names, words) { return element("div", { className: "field" }, element("label", { textContent: label }), choice(label, names.map((name) => [name, words[name] || name]), this.set[key], (value) => this.change(key, value))); }

  slider(label, unit, value, high, change) {
    const row = new SliderRow({ label, unit, value, low: 0, high, units: this.units, change: (x) => { row.set(Math.max(x, 0)); change(row.value); this.panel.changed(); } });
    return row.node;
  }

  gainRows() {
    const { gains, set, panel: { offers } } = this, names = set.controller === "LQR" ? { kp: "weight of positions", kd: "weight of speeds", ki: "weight of forces" } : { kp: "stiffness", kd: "damping", ...(set.controller === "PID" ? { ki: "memory" } : {}) };
    const unit = (key, k) => (set.controller === "computed torque" ? { kp: "1/s²", kd: "1/s" }[key] : set.controller === "LQR" ? "" : `${offers.motors[k].force}${{ kp: "/", kd: " s/", ki: "/s/" }[key]}${offers.motors[k].unit}`);
    return Object.entries(names).flatMap(([key, word]) => {
      const several = gains[key].length > 1, rows = gains[key].map((x, k) => this.slider(several ? offers.motors[k].name : word, unit(key, k), x, 4 * x || 1, (to) => { gains[key][k] = to; }));
      return several ? [element("p", { className: "gain", textContent: `${word} of each motor` }), this.together(gains, key), ...rows] : rows;
    });
  }

  // One slider for the gains of all motors.
  together(gains, key) {
    const base = [...gains[key]], row = this.slider("all of them", "×", 1, 4, (factor) => { gains[key] = base.map((x) => x * factor); });
    row.addEventListener("change", () => this.make());
    return row;
  }

  make() {
    const { set, panel: { offers } } = this, part = (title, ...rows) => section(title, true, ...rows.filter(Boolean));
    this.told = Object.fromEntries(["motion", "controller", "ground", "simulation"].map((name) => [name, element("p", { className: "problem", role: "alert" })]));
    const begins = choice("Where it begins", [["motion", "where the motion begins"], ["pose", "in the pose that was shown"]], set.on_motion ? "motion" : "pose", (to) => this.change("on_motion", to === "motion"));
    const follow = FOLLOWING.includes(set.controller) && element("div", { className: "field" }, element("label", { textContent: "it is to" }), choice("What is wanted", [["motion", "make the motion"], ["pose", "hold a pose"]], set.follow, (to) => this.change("follow", to)));
    const holds = (set.controller === "LQR" || (follow && set.follow === "pose")) && element("div", { className: "actions" }, button("Hold the pose shown", () => { this.goal = this.desk.app.q; this.desk.say("This is the pose that the motors hold."); this.panel.changed(); }));
    this.node.replaceChildren(
      part("Begins", element("div", { className: "field" }, element("label", { textContent: "it begins" }), begins), set.on_motion ? null : element("p", { className: "hint", textContent: "Drag the robot, then press Simulate: it begins there, at rest." }), this.told.motion),
      part("Motors", this.choose("motors give", "controller", offers.controllers, CONTROLLER_WORDS), follow, holds, element("p", { className: "hint", textContent: WHAT_IT_DOES[set.controller] }), ...(this.hasGains ? [element("div", { className: "rows" }, ...this.gainRows())] : []), this.told.controller),
      part("Ground", this.choose("it stands on", "ground", offers.grounds, GROUND_WORDS), ...(set.ground === "plane" ? [this.typed("height", "height", "m"), this.typed("slope", "slope", "rad", "Down toward positive x")] : []), ...(set.ground === "none" ? [] : [this.typed("friction", "friction", ""), this.typed("stiffness", "stiffness", "", "N/m at each point, more or less")]), offers.limits ? this.tick("Joints stop at their limits", "stops") : null, this.tick("Joints rub as the robot's file says", "rubs"), this.told.ground),
      part("Time", this.typed("duration", "seconds", "s"), this.choose("steps", "method", offers.methods, METHOD_WORDS), ["Runge-Kutta", "implicit"].includes(set.method) ? this.typed("step", "step", "s") : null, this.told.simulation),
      element("div", { className: "actions" }, button("Simulate", () => this.panel.compute(), { className: "main" })),
    );
  }

  shown() {}
  refresh() {}
}
