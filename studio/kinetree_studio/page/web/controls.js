// Controls of a page that computes: sliders with numbers that can be typed, and what is told of the pose.

const NOTHING = 1e-11;  // numbers below this are rounding
const MOST_CARDS = 3;    // more motors than this are listed in rows

function short(value, digits = 4) {
  if (!Number.isFinite(value)) return "–";
  if (Math.abs(value) < NOTHING) return "0";
  const rounded = Number(value.toPrecision(digits));
  return Math.abs(rounded) >= 1e5 || (rounded !== 0 && Math.abs(rounded) < 1e-4) ? rounded.toExponential(2) : String(rounded);
}

// A label, a slider, and its number with its unit, which a click lets one type.
class SliderRow {
  constructor({ label, unit, value, low, high, title, units, change }) {
    Object.assign(this, { unit, first: value, value, units, change });
    this.range = element("input", { type: "range", min: low, max: high, step: "any", ariaLabel: title || label });
    this.range.value = value;
    this.shown = element("button", { className: "value", type: "button", title: "Type a number" });
    this.node = element("div", { className: "row", title: title || label }, element("span", { textContent: label }), this.range, this.shown);
    this.range.oninput = () => this.change(Number(this.range.value), this);
    this.range.ondblclick = () => this.change(this.first, this);
    this.shown.onclick = () => this.type();
    units.listeners.push(() => this.set(this.value));
    this.set(value);
  }

  set(value) {
    this.value = value;
    if (value > Number(this.range.max)) this.range.max = value;
    if (value < Number(this.range.min)) this.range.min = value;
    this.range.value = value;
    const shown = this.units.shown(value, this.unit), text = `${short(shown, Math.abs(shown) < 1 ? 3 : 4)} ${this.units.label(this.unit)}`;
    if (this.shown.textContent !== text) this.shown.textContent = text;
    this.node.classList.toggle("changed", Boolean(this.marks) && Math.abs(value - this.first) > 1e-9 * Math.abs(this.first || 1));
  }

  type() {
    const field = element("input", { className: "typed", type: "text", value: short(this.units.shown(this.value, this.unit), 8), ariaLabel: this.range.ariaLabel });
    const done = (keep) => {
      if (!field.isConnected) return;
      const typed = Number(field.value.replace(",", "."));
      field.replaceWith(this.shown);
      if (keep && field.value.trim() !== "" && Number.isFinite(typed)) this.change(typed / this.units.shown(1, this.unit), this);
    };
    field.onkeydown = (e) => { if (e.key === "Enter") done(true); else if (e.key === "Escape") done(false); };
    field.onblur = () => done(true);
    this.shown.replaceWith(field);
    field.focus();
    field.select();
  }
}

const GROUPS = { gravity: "Gravity", masses: "Masses", lengths: "Lengths", damping: "Damping of joints" };
const HINTS = { lengths: "A length stretches the whole body. That of a last body is the distance of its farthest frame, or of its center of mass.", masses: "A mass takes its inertia along." };

// The left side: joints, numbers of the robot, drives.
class Design {
  constructor(node, app) {
    Object.assign(this, { app, joints: new Map(), sliders: [] });
    const { facts, units } = app;
    node.append(element("h1", { textContent: app.show.title }), element("p", { className: "about", textContent: app.show.about }));
    const moved = facts.joints.map((joint) => {
      const shown = app.show.sliders.find((s) => s.joint === joint.name);
      const row = new SliderRow({ label: joint.label, unit: joint.unit, value: app.q[joint.q], low: shown ? shown.low : -Math.PI, high: shown ? shown.high : Math.PI, units, change: (value) => app.moveJoint(joint, value) });
      this.joints.set(joint, row);
      return row.node;
    });
    if (moved.length) node.append(section("Joints", true, element("div", { className: "rows" }, ...moved), this.button("Back to the start", () => app.restart())));
    facts.sliders.forEach((slider, k) => {
      const row = new SliderRow({ ...slider, units, title: slider.name, change: (value) => app.setNumber(k, value) });
      row.marks = true;
      this.sliders.push(row);
    });
    for (const [group, title] of Object.entries(GROUPS)) {
      const rows = facts.sliders.flatMap((slider, k) => (slider.group === group ? [this.sliders[k].node] : []));
      if (rows.length) node.append(section(title, group !== "damping" && innerWidth > 760, HINTS[group] ? element("p", { className: "hint", textContent: HINTS[group] }) : null, element("div", { className: "rows" }, ...rows)));
    }
    if (facts.drives.length) node.append(this.drives());
    if (facts.sliders.length) node.append(element("div", { className: "actions" }, this.button("Back to the first numbers", () => app.firstNumbers())));
  }

  button(text, act) { const made = element("button", { type: "button", textContent: text }); made.onclick = act; return made; }

  drives() {
    const { app } = this, { facts, units } = app;
    this.motors = facts.drives.map((body, k) => {
      const joint = facts.joints.find((j) => j.body === body), unit = facts.forceUnits[joint.v];
      return new SliderRow({ label: joint.label, title: `torque of ${joint.label}`, unit, value: 0, low: -2 * facts.strength, high: 2 * facts.strength, units, change: (value) => app.setDrive(0, k, value) });
    });
    const common = (label, at, high, unit) => new SliderRow({ label, unit, value: 0, low: 0, high, units, change: (value) => app.setDrive(at, -1, value) });
    this.springs = [common("stiffness", 1, 20 * facts.strength, "N m/rad"), common("damping", 2, 4 * facts.strength, "N m s")];
    return section("Motors, when let go", false, element("p", { className: "hint", textContent: "A constant torque each, and a spring and damper that hold the pose from which it is let go." }), element("div", { className: "rows" }, ...[...this.motors, ...this.springs].map((row) => row.node)));
  }

  update() { for (const [joint, row] of this.joints) if (row.value !== this.app.q[joint.q]) row.set(this.app.q[joint.q]); }
}

// What is told of the pose that is seen.
class Now {
  constructor(app) {
    this.app = app;
    this.cards = element("div", { className: "cards" });
    this.pins = element("div", { className: "rows" });
    this.note = element("p", { className: "hint" });
    this.title = element("p", { className: "hint" });
    this.kept = new Map();
    this.motors = element("div", { className: "rows" });
    this.node = section("Now", true, this.title, this.motors, this.cards, element("p", { className: "hint", textContent: "Forces in the joints" }), this.pins, this.note);
    this.node.querySelector("summary").append(this.aside = element("span", { className: "aside" }));
  }

  card(key, name, value, unit) {
    if (!this.kept.has(key)) {
      const number = element("span"), small = element("small"), label = element("span", { textContent: name, title: name });
      const big = element("div", { className: "big" }, number, small);
      this.kept.set(key, { number, small });
      this.cards.append(element("div", {}, label, big));
    }
    const { number, small } = this.kept.get(key);
    number.textContent = short(this.app.units.shown(value, unit), 3);
    small.textContent = ` ${this.app.units.label(unit)}`;
  }

  // A line of a list: a name, and what is said of it.
  line(list, key, name, text) {
    if (!this.kept.has(key)) {
      const value = element("output");
      this.kept.set(key, value);
      list.append(element("div", { className: "row number", title: name }, element("span", { textContent: name }), value));
    }
    if (this.kept.get(key).textContent !== text) this.kept.get(key).textContent = text;
  }

  pin(k, name, force, moment) { this.line(this.pins, k, name, Number.isFinite(force) ? `${short(force, 3)} N${moment > 1e-9 ? `, ${short(moment, 3)} N m` : ""}` : "–"); }

  // How many ways to move there are, and which joints have come to an end.
  freedoms() {
    if (this.app.facts.rolling) return "";  // rolling leaves more places than directions
    const { whole, left, stopped } = this.app.mechanism.freedoms(this.app.q), names = stopped.slice(0, 3).map((j) => j.label).join(", ");
    const count = (n) => `${n} ${n === 1 ? "freedom" : "freedoms"}`;
    if (!stopped.length) return count(whole);
    return `${left < whole ? `${left} of ${count(whole)} left` : count(whole)}: ${stopped.length > 3 ? `${names} and ${stopped.length - 3} more are` : `${names} ${stopped.length > 1 ? "are" : "is"}`} at a limit`;
  }

  update() {
    const { app } = this, { facts, told } = app, known = app.knows;
    const driven = facts.joints.filter((j) => j.motor), hasTorque = facts.driven || app.mode === "run", few = driven.length <= MOST_CARDS;
    this.title.textContent = app.waits ? "" : this.freedoms();
    this.aside.textContent = { pose: "at rest", turn: "turning", run: "let go", shown: "as computed" }[app.mode];
    for (const joint of driven) {
      const torque = known ? told.tau[joint.v] : NaN, unit = facts.forceUnits[joint.v];
      if (few) {
        this.card(`q${joint.v}`, joint.label, app.q[joint.q], joint.unit);
        if (hasTorque) this.card(`t${joint.v}`, `${joint.slides ? "force" : "torque"} of ${joint.label}`, torque, unit);
      } else this.line(this.motors, `m${joint.v}`, joint.label, `${short(app.units.shown(app.q[joint.q], joint.unit), 3)} ${app.units.label(joint.unit)}${hasTorque ? `, ${short(torque, 3)} ${unit}` : ""}`);
    }
    this.card("potential", "potential energy", told.potential, "J");
    this.card("kinetic", "kinetic energy", known ? told.kinetic : NaN, "J");
    const w = told.wrenches;
    facts.pins.forEach((name, k) => { if (facts.pinKinds[k]) this.pin(k, name, known && app.hasForces ? Math.hypot(w[6 * k], w[6 * k + 1], w[6 * k + 2]) : NaN, Math.hypot(w[6 * k + 3], w[6 * k + 4], w[6 * k + 5])); });
    const notes = [];
    if (app.waits) notes.push("Its laws of motion are being worked out …");
    else if (!facts.driven && app.mode !== "run") notes.push("It would not stay in this pose: not all of its freedoms have motors.");
    if (!known && !app.waits) notes.push("Near a dead point there are no numbers: forces grow without bound there, or are not determined.");
    if (app.mode === "run") notes.push(`Energy balance off by ${app.letGo.balance().toExponential(1)} J after ${short(app.time, 3)} s, steps of ${short(1e3 * app.letGo.step, 3)} ms.`);
    this.note.textContent = notes.join(" ");
  }
}
