// The dock below the scene: what the studio computes for a robot, how far it is, and the curves of it.

const QUICK = 0.5;          // seconds: what takes no longer is computed again by itself when a number changes
const MOST_COMPILING = 4;   // seconds: what takes longer for the first time may take long again
const BEFORE_BAR = 300;     // milliseconds after which progress is shown
const BETWEEN_LOOKS = 200;
const TABS = { motion: "Motion", simulation: "Simulation", sweep: "Sweep", design: "Design" };

class RunPanel {
  constructor(node, desk) {
    Object.assign(this, { node, desk, tab: "", results: {}, took: {}, compiled: new Set(), count: 0 });
    this.forms = { motion: new MotionForm(this), simulation: new SimulationForm(this), sweep: new SweepForm(this), design: new DesignForm(this) };
    this.tabs = Object.fromEntries(Object.entries(TABS).map(([name, title]) => [name, button(title, () => (this.tab === name ? this.close() : this.open(name)))]));
    this.bar = element("progress", { max: 1, value: 0 });
    this.said = element("span", { className: "hint" });
    this.stop = button("Stop", () => this.cancel());
    this.going = element("div", { className: "going", hidden: true }, this.bar, this.said, this.stop);
    this.shut = button("×", () => this.close(), { className: "plain", title: "Close", ariaLabel: "Close the curves" });
    this.left = element("div", { className: "settings" });
    this.right = element("div", { className: "results" });
    this.curves = new CurveStack(element("div", {}), desk);
    this.body = element("div", { className: "dock-body" }, this.left, this.right);
    node.append(element("div", { className: "tabs" }, element("div", { className: "modes", role: "group", ariaLabel: "What is computed" }, ...Object.values(this.tabs)), this.going, element("span", { className: "grow" }), this.shut), this.body);
    this.close();
  }

  get form() { return this.forms[this.tab]; }
  get kind() { return this.tab; }

  close() {
    this.tab = "";
    this.node.classList.remove("open");
    this.shut.hidden = true;
    for (const tab of Object.values(this.tabs)) tab.setAttribute("aria-pressed", false);
  }

  async open(name) {
    const { app } = this.desk;
    if (!app || app.waits) { this.desk.say("The robot is not ready yet."); return; }
    this.tab = name;
    this.node.classList.add("open");
    this.shut.hidden = false;
    for (const [key, tab] of Object.entries(this.tabs)) tab.setAttribute("aria-pressed", key === name);
    try { await this.offer(); } catch (problem) { this.desk.say(problem.message); this.close(); return; }
    this.left.replaceChildren(this.form.node);
    this.right.replaceChildren(this.form.view || this.curves.node);
    if (this.form.opened) this.form.opened();
    else if (this.results[name]) this.replay();
    else this.compute();
  }

  // What can be computed with this robot; asked once for each.
  async offer() {
    if (this.offers) return;
    this.offers = await ask("offers", { pose: [...this.desk.app.q] });
    const { last } = this.offers;
    for (const [name, form] of Object.entries(this.forms)) form.begin(last[name]);
    this.listen();
  }

  // Other units are written at once.
  listen() {
    const { app } = this.desk;
    if (this.heard === app) return;
    this.heard = app;
    app.units.listeners.push(() => {
      if (this.desk.app !== app || !this.offers) return;
      for (const form of Object.values(this.forms)) form.make();
      this.forms.sweep.picture.draw();
      if (this.curves.told) this.curves.tellMotors(this.curves.told);
    });
  }

  // Another robot is opened.
  forget() {
    this.close();
    Object.assign(this, { offers: null, results: {}, took: {}, compiled: new Set() });
    for (const form of Object.values(this.forms)) form.forget();
  }

  // Another design of the robot is open: what was shown is computed again if it is quick.
  async show() {
    Object.assign(this, { offers: null, results: {} });
    const { app } = this.desk;
    if (!this.tab || !app || app.waits) return;
    this.curves.old(true);
    await this.offer();
    this.left.replaceChildren(this.form.node);
    this.changed();
  }

  // Numbers of sliders that are tried, by name.
  values() {
    const { facts, values } = this.desk.app;
    return Object.fromEntries(facts.sliders.flatMap((s, k) => (Math.abs(values[k] - s.value) > 1e-9 * Math.abs(s.value || 1) ? [[s.name, values[k]]] : [])));
  }

  // A number of what was computed has changed: what is quick is computed again.
  changed() {
    if (!this.tab) return;
    this.curves.old(true);
    if (this.tab === "motion") delete this.results.simulation;
    if (this.form.stale) this.form.stale();
    else if (this.took[this.tab] === undefined || this.took[this.tab] < QUICK) this.compute();
    else this.say(`Gray curves are of the numbers before: press ${this.form.doing}.`);
  }

  // A slider of the robot was moved.
  tried() {
    this.results = {};
    if (!this.tab || !this.form.taking) this.changed();
  }

  say(text) { this.going.hidden = !text; this.bar.hidden = this.stop.hidden = true; this.said.textContent = text; }

  cancel() { if (this.job) answered("cancel", { job: this.job }).catch(() => {}); }

  async look(job) {
    const { done, said } = await answered("progress", { job });
    if (this.job !== job) return;
    Object.assign(this.going, { hidden: false });
    this.bar.hidden = this.stop.hidden = false;
    if (done > 0) this.bar.value = done; else this.bar.removeAttribute("value");
    this.said.textContent = said || "computing …";
  }

  async compute() {
    if (this.job) { this.again = true; if (!(this.took[this.tab] < QUICK)) this.cancel(); return; }
    const { tab, form } = this, { app } = this.desk;
    let run;
    try { run = form.content(); } catch (problem) { form.problem("", problem.message); return; }
    this.again = false;
    const job = `${Date.now()}-${++this.count}`, playing = app.playing || !this.results[tab];
    this.job = job;
    let looks = setTimeout(function look() { this.look(job).catch(() => {}); looks = setTimeout(look.bind(this), BETWEEN_LOOKS); }.bind(this), BEFORE_BAR);
    try {
      const told = await answered("compute", { job, run, beside: !form.accept && this.desk.beside && this.desk.beside.text ? { text: this.desk.beside.text, run: this.ofBeside(run) } : null });
      if (this.desk.app === app) await this.take(tab, form, run, told, playing);
    } catch (problem) { form.problem("", problem.message); } finally {
      clearTimeout(looks);
      this.job = "";
      this.say("");
    }
    if (this.again && this.tab === tab) this.compute();
  }

  // What is other for the design beside this one: where it begins, closed.
  ofBeside(run) {
    const { app, beside } = this.desk, start = (q) => [...(beside.like(app, Float64Array.from(q)) || beside.q)], more = { q: start(run.q), values: {} };
    if (run.v) Object.assign(more, { v: new Array(beside.facts.nv).fill(0), goal: start(run.goal) });
    if (run.motion) more.motion = { ...run.motion, q: start(run.motion.q), values: {} };
    return more;
  }

  async take(tab, form, run, told, playing) {
    if (told.problem) { form.problem(told.where, told.problem); return; }
    if (!told.result) return;
    form.problem("", "");
    this.measure(tab, run, told.seconds);
    if (form.accept) { await form.accept(told, await unpacked(told.result)); this.results[tab] = true; return; }
    const beside = told.beside ? new RunResult({ notes: [] }, await unpacked(told.beside)) : null, notes = [...told.notes, ...(told.besideProblem ? [`B: ${told.besideProblem}`] : []), ...(told.ended ? ["Stopped here."] : [])];
    const result = new RunResult({ ...told, notes }, await unpacked(told.result), beside);
    this.results[tab] = result;
    if (this.tab !== tab) return;
    this.desk.app.showRun(result, playing);
    this.curves.show(tab, result);
    form.shown(result);
    this.desk.app.refresh();
  }

  // How long the like of it takes; what is new is also compiled the first time, which says little.
  measure(tab, run, seconds) {
    const key = JSON.stringify(run, (_, x) => (typeof x === "number" ? 0 : x));
    this.took[tab] = this.compiled.has(key) || seconds > MOST_COMPILING ? seconds : 0;
    this.compiled.add(key);
  }

  // Play what was computed last once more.
  replay() {
    const result = this.results[this.tab];
    if (!result || this.form.accept) return;
    this.desk.app.showRun(result, false);
    this.curves.show(this.tab, result);
    this.form.shown(result);
    this.desk.app.refresh();
  }

  drawCurves() { if (this.tab && !this.form.view) this.curves.draw(); if (this.tab) this.form.refresh(); }
}
