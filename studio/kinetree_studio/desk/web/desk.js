// The desk: the robot that is open, what is known of it, and the page that shows, moves and runs it.

const KEPT_OF_SCENE = ["yaw", "pitch", "zoomed"];
const REST_BEFORE_RUN = 700;  // milliseconds after the last change before a turn counts as a run
const CHOSEN = [0.98, 0.72, 0.2];
const MOST_LABELS = 60;

class DeskScene extends LiveScene {
  things(robot) {
    const list = super.things(robot);
    const body = this.desk.chosenBody;
    if (!robot.ghost && body !== undefined) {
      for (const thing of list) if (thing.part && thing.part.body === body && thing.part.role === "link") thing.color = [...CHOSEN, thing.color[3]];
    }
    return list;
  }

  marks(robot) { return [...super.marks(robot), ...this.app.handlesNow.marks(), ...this.desk.frames.marks()]; }

  wrenches(robot) { return robot.ghost ? [] : [...super.wrenches(robot), ...this.app.groundArrows(this)]; }

  draw(width, height, ratio, orbit, palette) {
    super.draw(width, height, ratio, orbit, palette);
    this.app.handlesNow.rings();
    this.label(orbit.sight(width / height, [0, 0, 0]).matrix);
  }

  // What has a name that is worth writing: frames, in a table only those of links, in a drawing only its points.
  named() {
    const { content } = this.desk.told, bodies = new Set(this.main.bodies);
    return Object.entries(this.main.points).filter(([name]) => name !== HELD && (content.linkage ? !bodies.has(name) : content.table ? bodies.has(name) : true)).slice(0, MOST_LABELS);
  }

  // Names of frames, written where they are.
  label(camera) {
    const node = document.getElementById("labels"), wanted = this.desk.labels ? this.named() : [];
    while (node.children.length > wanted.length) node.lastChild.remove();
    wanted.forEach(([name, place], k) => {
      const made = node.children[k] || node.appendChild(element("span")), [x, y, z] = this.main.point(place);
      const [u, v, w] = [0, 1, 3].map((row) => camera[row] * x + camera[row + 4] * y + camera[row + 8] * z + camera[row + 12]);
      if (made.textContent !== name) made.textContent = name;
      made.style.transform = `translate(${(0.5 + 0.5 * u / w) * this.canvas.clientWidth + 6}px, ${(0.5 - 0.5 * v / w) * this.canvas.clientHeight - 8}px)`;
      made.hidden = !(w > 0);
    });
  }
}

class DeskPage extends PlayedPage {
  constructor(show, engine, desk) {
    DeskPage.next = desk;  // the first picture is made before this object is
    super(show, engine);
  }

  get desk() { return this.owner || (this.owner = DeskPage.next); }

  get handlesNow() { return this.handles || (this.handles = new Handles(this)); }

  handleUnder(e) {
    const { handlesNow } = this, own = handlesNow.under(e);
    return own && { take: (x) => handlesNow.take(x, own), move: (x) => handlesNow.move(x), drop: () => handlesNow.drop() };
  }

  makeScene(canvas, show) {
    const made = new DeskScene(canvas, show, this), { beside } = this.desk;
    made.desk = this.desk;
    if (beside) {
      const ghost = new ComputedRobot(made.renderer, { ...beside.show.robots[0], ghost: true });
      made.robots.push(ghost);
      show.shown.ghost = true;
      this.ghost = ghost;
    }
    return made;
  }

  see(q) {
    super.see(q);
    if (this.ghost) this.desk.beside.follow(this, this.ghost, q, this.besideState());
  }

  grab(held) { super.grab(held); this.desk.builder.chooseBody(this.scene.main.bodies[held.body]); }

  makeCurves() {
    super.makeCurves();
    if (!this.plot || this.mode !== "turn") return;
    for (const group of this.plot.groups) delete group.beside;
    if (this.desk.beside) this.desk.beside.curves(this, this.plot.groups);
    this.compare();
  }

  compare() {
    if (this.compared) this.compared.remove();
    this.compared = null;
    if (this.plot && this.plot.group.beside) {
      this.compared = comparison(this.plot, this.units);
      this.curves.node.append(this.compared);
      const { onchange } = this.plot.select;
      this.plot.select.onchange = () => { onchange(); this.compare(); };
    }
  }

  setNumber(k, value) { super.setNumber(k, value); this.desk.tried(); this.desk.runs.tried(); }
  firstNumbers() { super.firstNumbers(); this.desk.tried(); this.desk.runs.tried(); }
  setDrive(which, k, value) { super.setDrive(which, k, value); if (this.mode === "run") this.mixed = true; }

  get tries() { return this.values.some((x, k) => Math.abs(x - this.facts.sliders[k].value) > 1e-9 * Math.abs(this.facts.sliders[k].value || 1)); }

  // A turn is remembered when it has rested; a simulation when it is paused.
  startTurn(joint, playing, time = 0) {
    const isNew = this.mode !== "turn";
    super.startTurn(joint, playing, time);
    if (isNew) this.makeRoom();
    clearTimeout(this.counting);
    if (this.hasForces) this.counting = setTimeout(() => { if (this.mode === "turn" && !this.tries && !this.ended) this.ran({ kind: "turn", joint: joint.name, speed: this.speed, low: this.turn.low, high: this.turn.high, whole: this.turn.whole, q: [...this.turn.states[0].q], count: TURN_SAMPLES }); }, REST_BEFORE_RUN);
  }

  // Step back as far as the turn needs, and take the floor away if it goes through it.
  makeRoom() {
    const { canvas, main } = this.scene, { show, orbit } = this, ends = [];
    for (let k = 0; k <= TURN_SAMPLES; k += 12) {
      const { poses } = this.mechanism.look(this.turn.states[k].q);
      for (const { body, point } of main.masses) for (const share of [0, 2]) ends.push(placed(poses.subarray(7 * body, 7 * body + 7), scaled(point, share)));
    }
    if (ends.some((end) => dot(end, show.up) < show.ground.height - 1e-6 * show.size)) show.shown.ground = false;
    for (let tries = 0; tries < 4; tries++) {
      const camera = orbit.sight((canvas.clientWidth || 1) / (canvas.clientHeight || 1), [0, 0, 0]).matrix;
      const most = Math.max(...ends.map(([x, y, z]) => {
        const [u, v, w] = [0, 1, 3].map((row) => camera[row] * x + camera[row + 4] * y + camera[row + 8] * z + camera[row + 12]);
        return w > 0 ? Math.max(Math.abs(u), Math.abs(v)) / w : 2;
      }));
      if (!(most > 0.95)) return;
      orbit.zoomed *= Math.min(most / 0.88, 2);
    }
  }

  startRun(fresh = true) { this.mixed = false; super.startRun(fresh); }

  play(playing) {
    super.play(playing);
    if (!playing && this.mode === "run" && this.time > 0 && !this.mixed && !this.tries) {
      const [torque, kp, kd, goal] = this.drive.map((x) => [...x]);
      this.ran({ kind: "let go", q: [...this.letGo.start.q], v: [...this.letGo.start.v], seconds: this.time, step: this.letGo.step, torque, kp, kd, goal });
    }
  }

  ran(run) { ask("run", { run, version: this.version }).catch((problem) => this.say(problem.message)); }

  // Positions of all joints by name, and how the robot is seen: what the next page goes on with.
  kept() {
    return {
      pose: this.byName(this.q), start: this.byName(this.mode === "turn" ? this.turnStart : this.q), orbit: Object.fromEntries(KEPT_OF_SCENE.map((key) => [key, this.orbit[key]])),
      mode: this.mode, turning: this.turning && this.turning.name, playing: this.playing, share: this.turn ? this.time / this.turn.period : 0, speed: this.speed,
      units: this.units.chosen, group: this.plot && this.plot.group.title, shown: { ...this.show.shown }, trail: this.panel.trailOf.value,
    };
  }

  byName(q) { return Object.fromEntries(this.facts.joints.map((j) => [j.name, [q[j.q]]])); }

  // Play the turn that a new mechanism begins with, now or when it is known.
  playSoon() { if (this.mode === "turn") this.play(true); else this.plays = this.waits; }

  engage(engine) {
    super.engage(engine);
    if (this.plays) this.playSoon();
  }

  // How the page before was seen, as far as that is known before anything is computed.
  seeBefore(kept) {
    this.q = Float64Array.from(this.facts.seen.q);
    if (kept) {
      Object.assign(this.orbit, kept.orbit);
      this.units.chosen = this.units.select.value = kept.units;
    }
    for (const f of this.units.listeners) f();
    this.seePose();
    this.refresh();
  }

  restore(kept) {
    const at = Float64Array.from(this.first), from = kept.mode === "turn" ? kept.start : kept.pose;
    for (const joint of this.facts.joints) if (joint.name in from) at[joint.q] = from[joint.name][0];
    const q = this.mechanism.close(at) || this.first, joint = this.facts.joints.find((j) => j.name === kept.turning && j.independent);
    Object.assign(this.orbit, kept.orbit);
    this.units.chosen = kept.units;
    this.units.select.value = kept.units;
    for (const [name, on] of Object.entries(kept.shown)) if (name in this.show.shown && name !== "ghost") this.show.shown[name] = on;
    const { trailOf } = this.panel;
    if ([...trailOf.options].some((own) => own.value === kept.trail)) trailOf.value = kept.trail;
    this.bar.speed.set(kept.speed);
    if (kept.mode === "turn" && joint) {
      this.mode = "pose";
      this.q = q;
      this.startTurn(joint, kept.playing);
      this.seek(kept.share * this.turn.period);
    } else {
      this.toPose();
      this.q = q;
      this.seePose();
    }
    if (this.plot && kept.group) {
      const k = this.plot.groups.findIndex((g) => g.title === kept.group);
      if (k >= 0) { this.plot.select.value = k; this.plot.select.onchange(); }
    }
    for (const f of this.units.listeners) f();
    this.refresh();
  }
}

class Desk {
  constructor() {
    this.top = document.getElementById("top");
    this.start = new StartPage(document.getElementById("start"), this);
    this.drawing = new Drawing(document.getElementById("drawing"), this);
    this.builder = new Builder(document.getElementById("build"), this);
    this.frames = new Frames(this);
    this.lesson = new Lesson(document.getElementById("lesson"), this);
    this.runs = new RunPanel(document.getElementById("dock"), this);
    this.blank = document.getElementById("stage").cloneNode(true);
    Object.assign(this, { labels: false, handles: false });
    addEventListener("beforeunload", (e) => { if (this.unsaved) e.preventDefault(); });
    addEventListener("keydown", (e) => {
      if (!(e.ctrlKey || e.metaKey) || document.body.dataset.shows !== "desk" || ["INPUT", "TEXTAREA"].includes(e.target.tagName)) return;
      const key = e.key.toLowerCase();
      if (key === "z" || key === "y") { e.preventDefault(); this.step(key === "y" || e.shiftKey ? "redo" : "undo"); }
      if (key === "s") { e.preventDefault(); this.save(); }
    });
  }

  get app() { return kinetree.app; }
  get units() { return this.app ? this.app.units : this.plainUnits || (this.plainUnits = new Units({})); }
  size() { return this.app ? this.app.show.size : 1; }

  async begin() {
    const told = await ask("begin");
    this.fields = told.fields;
    this.start.show(told);
    if (told.desk) await this.show(told.desk);
    else this.see("start");
  }

  see(what) {
    document.body.dataset.shows = what;
    document.body.classList.toggle("wide", what === "desk" && Boolean(this.told && this.told.content.table));
    for (const name of ["start", "drawing"]) document.getElementById(name).hidden = what !== name;
    document.title = what === "desk" && this.told ? `${this.told.name} – kinetree studio` : "kinetree studio";
    if (what !== "desk" && this.app) this.app.playing = false;
  }

  get unsaved() { return Boolean(this.told && this.told.undo && !this.told.saved); }

  async open(what, how = "open") {
    if (this.unsaved && !confirm(`The changes of ${this.told.name} are not saved. Leave them?`)) return;
    this.start.problem.textContent = "";
    try {
      const told = await ask(how, what);
      if (this.app) { this.app.end(); kinetree.app = null; }
      this.frames.end();
      Object.assign(this, { beside: null, keptLast: null, labels: Boolean(told.content.table || told.content.linkage) });
      this.builder.chosen = null;
      this.runs.forget();
      await this.show(told);
      if (told.lesson) this.lesson.begin(told.lesson); else this.lesson.end();
      if (this.app && (told.content.table || told.content.linkage)) this.firstView(told.content);
    } catch (problem) {
      this.start.problem.textContent = problem.message;
      this.start.node.scrollTop = 0;
      if (document.body.dataset.shows === "drawing") throw problem;
      this.see("start");
    }
  }

  draw(linkage) { this.drawing.begin(linkage); this.see("drawing"); }

  pose() { return this.app ? this.app.kept().pose : undefined; }

  // Make an edit; an error is thrown to whoever asked for it, and nothing has changed.
  async change(edit) {
    const told = await ask("edit", { edit, pose: this.pose() });
    await this.show(told);
    return told;
  }

  async step(which) {
    const told = await ask(which, { pose: this.pose() });
    await this.show(told);
    this.say(told.said || (which === "undo" ? "There is nothing to undo." : "There is nothing to do again."));
  }

  say(text) {
    if (this.app) this.app.saying = null;
    document.getElementById("notice").textContent = text;
  }

  async show(told) {
    this.told = told;
    this.see("desk");
    this.makeTop();
    await this.showRobot(told);
    this.builder.show();
    this.makeViews();
    if (this.frames.table) this.frames.begin(this.frames.table.convention).catch(() => this.frames.end());
    if (told.problem) this.say(told.problem);
    else if (told.notes.length) this.say(told.notes.join("\n"));
    await this.runs.show();
  }

  async showRobot({ robot, laws }) {
    const { app } = this, kept = app && !app.waits ? app.kept() : this.keptLast;
    this.keptLast = kept;
    const show = robot && await unpacked(robot), name = robot && show.compute.laws;
    if (laws) await keepLaws(name, laws);
    const engine = robot && await this.engine(show);
    // from here on until the first picture nothing is waited for, so that the scene does not flicker
    if (app) { app.end(); kinetree.app = null; }
    const stage = document.getElementById("stage"), fresh = this.blank.cloneNode(true);
    stage.replaceWith(fresh);
    for (const id of ["design", "bar", "panel"]) document.getElementById(id).replaceChildren();
    if (!robot) return;
    this.packed = robot;
    kinetree.app = new DeskPage(show, engine, this);
    for (const name of Object.keys(this.shown || {})) if (!kept || !(name in kept.shown)) this.shows(name);
    this.app.version = this.told.version;
    if (this.app.waits) {
      this.app.seeBefore(kept);
      this.waitForLaws(this.app, name, kept);
    } else if (kept) this.app.restore(kept);
    this.tryRow();
    if (!this.app.still) this.app.frame(performance.now());
  }

  async engine({ compute }) {
    const { code, functions } = LAWS.get(compute.laws) || {};
    return code ? Engine.of(code, functions) : new Still(compute, compute.seen);
  }

  // What is shown begins to move when its code has been made.
  async waitForLaws(app, name, kept) {
    try {
      if (!LAWS.has(name)) await keepLaws(name, (await answered("laws", { name })).laws);
      const engine = await this.engine(app.show);
      if (this.app !== app) return;
      app.engage(engine);
      if (kept) app.restore(kept);
      app.redraw();
      await this.runs.show();
    } catch (problem) { if (this.app === app) this.say(problem.message); }
  }

  // Show something, in this page and in those that follow it.
  shows(name) {
    this.shown = { ...this.shown, [name]: true };
    if (this.app && name in this.app.show.shown) { this.app.show.shown[name] = true; this.app.refresh(); }
  }

  highlight(name) {
    const bodies = this.app ? this.app.scene.main.bodies : [], at = bodies.indexOf(name);
    this.chosenBody = at < 0 ? undefined : at;
    if (this.app) this.app.redraw();
  }

  // ---------------------------------------------------------------- numbers of sliders that are tried, and kept

  tryRow() {
    this.trying = element("div", { className: "actions", hidden: true }, element("p", { className: "hint", textContent: "These numbers are tried: they are not in the robot yet." }), button("Keep them", () => this.keepNumbers(), { className: "main" }));
    document.getElementById("design").append(this.trying);
  }

  tried() { if (this.trying) this.trying.hidden = !this.app.tries; }

  async keepNumbers() {
    const { facts, values } = this.app, changed = facts.sliders.map((s, k) => [s.name, values[k], s.value]).filter(([, x, first]) => x !== first);
    try { await this.show(await ask("numbers", { values: Object.fromEntries(changed.map(([name, x]) => [name, x])), pose: this.pose() })); } catch (problem) { this.say(problem.message); }
  }

  // ---------------------------------------------------------------- the line at the top

  makeTop() {
    const { told } = this, name = told.file ? `${told.file}${told.saved ? "" : " *"}` : `${told.name} (not saved)`;
    const more = choice("Take away", [["", "Take away"], ["yaml", "Robot (YAML)"], ["urdf", "Robot (URDF)"], ["mjcf", "Robot (MJCF)"], ["sdf", "Robot (SDF)"], ["page", "Page that computes (HTML)"], ["csv", "Curves (CSV)"], ["png", "Picture (PNG)"], ["python", "Python"]], "", (form) => { more.value = ""; this.take(form); });
    this.top.replaceChildren(
      button("kinetree studio", () => this.toStart(), { className: "brand", title: "Open another robot" }),
      element("span", { className: "file", textContent: name }),
      button("↶", () => this.step("undo"), { title: told.undo ? `Undo: ${told.undo}` : "Nothing to undo", disabled: !told.undo, ariaLabel: "Undo" }),
      button("↷", () => this.step("redo"), { title: told.redo ? `Redo: ${told.redo}` : "Nothing to do again", disabled: !told.redo, ariaLabel: "Redo" }),
      element("span", { className: "grow" }),
      this.beside ? button("Beside: B ×", () => this.leaveBeside(), { title: `B is the design after: ${this.beside.name}. Press to take it away.`, ariaPressed: "true" }) : button("Keep as B", () => this.keepBeside(), { title: "Keep this design beside the ones that follow: as a ghost, and with its curves" }),
      button("YAML", () => this.editText(), { title: "The robot as text" }),
      button("Python", () => this.showPython(), { title: "Show the Python for what was done so far" }),
      button("Equations", () => this.showEquations(), { title: "Equations of motion" }),
      more, button("Save", () => this.save(), { className: "main" }),
    );
  }

  async toStart() { const told = await ask("begin"); this.start.show(told); this.see("start"); }

  async keepBeside() {
    if (!this.packed || !this.app || this.app.waits) return;
    const show = await unpacked(this.packed), about = this.told.undo || "as opened";
    this.beside = await Beside.of(about, show);
    this.beside.text = this.told.text;
    await this.showRobot(this.told && { robot: this.packed });
    this.makeTop();
    this.makeViews();
    this.builder.show();
    this.say("Change something: this design stays beside it, pale, with dashed curves.");
    await this.runs.show();
  }

  async leaveBeside() {
    this.beside = null;
    await this.showRobot({ robot: this.packed });
    this.makeTop();
    this.makeViews();
    this.builder.show();
    await this.runs.show();
  }

  makeViews() {
    const { app } = this, node = document.getElementById("views");
    if (!app) return;
    const toward = (away) => {
      const [x, y, z] = app.orbit.axes;
      app.orbit.pitch = Math.asin(Math.max(-1, Math.min(1, dot(away, z))));
      if (Math.hypot(dot(away, x), dot(away, y)) > 1e-9) app.orbit.yaw = Math.atan2(dot(away, y), dot(away, x));
      app.redraw();
    };
    const [x, y, z] = app.orbit.axes, normal = planeOf(app) || scaled(y, -1), front = Math.abs(dot(normal, z)) > 0.9 ? scaled(y, -1) : normal;
    const names = element("input", { type: "checkbox", checked: this.labels });
    const handles = element("input", { type: "checkbox", checked: this.handles });
    handles.onchange = () => { this.handles = handles.checked; app.redraw(); };
    names.onchange = () => { this.labels = names.checked; app.redraw(); };
    const { axes } = app.scene.main, chain = !this.told.content.loops && !this.told.content.linkage && app.facts.joints.length === axes.length && axes.length > 0;
    const stepwise = chain ? button("DH frames", () => this.frames.begin().catch((problem) => this.say(problem.message)), { title: "Frames of a Denavit-Hartenberg table, one displacement after the other" }) : "";
    const other = this.told.content.loops || this.told.content.linkage ? button("Other assembly", () => this.nextAssembly().catch((problem) => this.say(problem.message)), { title: "The same positions of motors, the mechanism put together in another way" }) : "";
    node.replaceChildren(button("Front", () => toward(front)), button("Side", () => toward(unit(cross(z, front)))), button("Top", () => toward(z)), button("3-D", () => { app.orbit.reset(); app.redraw(); }), element("label", {}, names, element("span", { textContent: "Names" })), element("label", { title: "Arrows, rings and balls that move and turn what is chosen in the tree; with Shift in finer steps" }, handles, element("span", { textContent: "Handles" })), stepwise, other);
  }

  // Go to the next way to assemble the mechanism with its independent joints where they are.
  async nextAssembly() {
    const { app } = this, { facts, q } = app, names = facts.joints.filter((j) => j.independent);
    const { q: all, proven } = await ask("assemblies", { held: Object.fromEntries(names.map((j) => [j.name, q[j.q]])) });
    if (this.app !== app || app.waits) return;
    const apart = (x) => facts.joints.reduce((most, j) => Math.max(most, j.slides ? Math.abs(x[j.q] - q[j.q]) / app.show.size : Math.abs(Math.sin(0.5 * (x[j.q] - q[j.q])))), 0);
    const here = all.map(apart).indexOf(Math.min(...all.map(apart))), next = (here + 1) % all.length;
    const told = all.length > 1 ? `Assembly ${next + 1} of ${all.length}` : "There is one way to assemble it";
    const { mode, turning, playing } = app;
    if (next !== here) {
      app.toPose();
      app.q = app.mechanism.close(Float64Array.from(all[next])) || app.q;
      app.wholeKey = "";
      app.seePose();
      if (mode === "turn") { app.startTurn(turning, playing); this.makeViews(); }
      app.refresh();
    }
    this.say(`${told} with ${names.map((j) => j.label).join(", ")} where ${names.length > 1 ? "they are" : "it is"}${proven ? "; there are no others" : ", of those that were found"}.`);
  }

  // A new drawing or table is seen from the front, with room to move, and no floor that it would dip into.
  firstView({ table }) {
    const { app } = this, { shown } = app.show;
    Object.assign(shown, { ground: false, frames: Boolean(table) });
    if (table) Object.assign(app.orbit, { target: [0, 0, 0], zoomed: 1.6 });
    if (planeOf(app)) document.querySelector("#views button").click();
    app.refresh();
  }

  // ---------------------------------------------------------------- taking away

  async take(form) {
    try {
      if (form === "csv") { if (this.app && this.app.plot) saveText(`${this.told.name}.csv`, this.app.curves.table(), "text/csv"); else this.say("There are no curves yet: turn a motor, or let the robot go."); } else if (form === "png") this.app.savePicture();
      else if (form === "python") this.showPython();
      else if (form) { const { name, text } = await ask("take", { form }); saveText(name, text); this.say(`Wrote ${name}`); }
    } catch (problem) { this.say(problem.message); }
  }

  async showPython() {
    try {
      const { name, text } = await ask("take", { form: "python" });
      openDialog("What was done, as Python", element("p", { className: "hint", textContent: "It loads the robot and repeats the turns and simulations made so far; it gives the same numbers." }), element("pre", { textContent: text }), element("div", { className: "actions" }, button("Copy", () => navigator.clipboard.writeText(text)), button(`Save ${name}`, () => saveText(name, text))));
    } catch (problem) { this.say(problem.message); }
  }

  async showEquations() {
    const waiting = element("pre", { textContent: "Working them out …" }), typeset = element("div", { className: "formulas" });
    openDialog("Equations of motion", typeset, waiting);
    try {
      const { text, formulas, names } = await ask("equations");
      waiting.textContent = text;
      typeset.append(element("p", {}, motionLaw()), element("p", { className: "hint", textContent: `${names.map((name, k) => `q${k + 1}: ${name}`).join(", ")}. Numbers have four digits here, and all of them below.` }), ...formulas.map((own) => element("p", {}, typesetFormula(own))));
    } catch (problem) { waiting.textContent = problem.message; }
  }

  editText() {
    const area = element("textarea", { value: this.told.text, spellcheck: false, ariaLabel: "The robot's file" }), problem = element("p", { className: "problem", role: "alert" });
    const dialog = openDialog("The robot as text", area, problem, element("div", { className: "actions" }, button("Apply", () => this.change({ do: "replace", text: area.value }).then(() => dialog.close(), (error) => { problem.textContent = error.message; }), { className: "main" })));
  }

  async save(file = "") {
    if (!file && !this.told.file) {
      const name = element("input", { value: `${this.told.name.replace(/[^\w.-]+/g, "-")}.yaml`, ariaLabel: "Name of the file" }), problem = element("p", { className: "problem", role: "alert" });
      const dialog = openDialog("Save the robot", element("p", { className: "hint", textContent: `In ${this.start.cards ? "the studio's folder" : "the folder"}, with the runs made so far.` }), name, problem, element("div", { className: "actions" }, button("Save", () => this.saveAs(name.value).then(() => dialog.close(), (error) => { problem.textContent = error.message; }), { className: "main" })));
      return;
    }
    try { await this.saveAs(file); } catch (problem) { this.say(problem.message); }
  }

  async saveAs(file, over = false) {
    const told = await ask("save", { file, over });
    if (told.exists) {
      if (!confirm(`${told.exists} exists already. Replace it?`)) throw new Error("Not saved: choose another name.");
      await this.saveAs(file, true);
      return;
    }
    Object.assign(this.told, { file: told.file, saved: true });
    this.makeTop();
    this.say(told.said);
  }
}

// The direction that all hinges of a planar mechanism share; null if they do not.
function planeOf(app) {
  const robot = app.scene.main, found = robot.axes.filter((axis) => robot.known(axis.body)).map((axis) => turned(robot.pose(axis.body).slice(3), axis.direction));
  if (!found.length) return null;
  const [first] = found;
  if (!found.every((axis) => Math.abs(Math.abs(dot(axis, first)) - 1) < 1e-6)) return null;
  return dot(first, app.show.camera.away) < 0 ? scaled(first, -1) : first;
}

const desk = new Desk();
desk.begin().then(() => { kinetree.desk = desk; }, (problem) => { kinetree.problem = String(problem.stack || problem.message); document.getElementById("notice").textContent = problem.message; desk.see("desk"); });
