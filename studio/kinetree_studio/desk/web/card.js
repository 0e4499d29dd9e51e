// The tree of what a robot consists of, and the card of numbers of what is chosen in it.

const LISTS = { bodies: "Bodies", joints: "Joints", loops: "Loops", frames: "Frames", tendons: "Springs and dampers", actuators: "Actuators", couplings: "Couplings", shapes: "Shapes" };
const PLAIN_NUMBER = /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i;

// What is at a place of the file; items of lists are found by their names.
const entry = (found, key) => (Array.isArray(found) && typeof key === "string" ? found.find((item) => item && item.name === key) : found[key]);
const deep = (value, at) => at.reduce((found, key) => (found === null || found === undefined || typeof found === "string" ? undefined : entry(found, key)), value);

// Values of a file, shown in the units of the page and read back from what is typed.
class Numbers {
  constructor(units) { this.units = units; }
  shown(raw, unit) {
    if (raw === undefined || raw === null) return "";
    const text = String(raw);
    return PLAIN_NUMBER.test(text.trim()) && this.units.label(unit) !== unit ? String(Number(this.units.shown(Number(text), unit).toPrecision(12))) : text;
  }
  read(text, unit) {
    const plain = text.trim().replace(",", ".");
    return PLAIN_NUMBER.test(plain) ? Number(plain) / this.units.shown(1, unit) : text.trim();
  }
}

class Builder {
  constructor(node, desk) {
    Object.assign(this, { node, desk, chosen: null });
    this.tree = element("div", { className: "tree", role: "tree" });
    this.card = element("div", { className: "numbers" });
    node.append(this.tree, this.card);
  }

  get fields() { return this.desk.fields; }
  get content() { return this.desk.told.content; }
  get numbers() { return new Numbers(this.desk.units); }

  // What can be chosen: section, name, depth in the tree, what is said beside it, and the body that it is.
  items() {
    const { content } = this, found = [["robot", { section: "robot", name: content.name || "robot", at: [], depth: 0, said: "" }]];
    const depths = new Map();
    for (const [section, title] of Object.entries(LISTS)) {
      const list = content[section] || [];
      if (!list.length) continue;
      found.push([title, null]);
      list.forEach((item, k) => {
        const depth = section === "bodies" && depths.has(item.parent) ? depths.get(item.parent) + 1 : 0;
        if (section === "bodies") depths.set(item.name, depth);
        const joint = typeof item.joint === "string" ? item.joint : (item.joint || {}).kind;
        const said = { bodies: joint, joints: item.kind, loops: item.kind, frames: item.body, shapes: item.kind, actuators: item.joint || item.tendon }[section] || "";
        found.push([section, { section, name: item.name === undefined ? `${section === "shapes" ? item.body : section} ${k + 1}` : item.name, at: [section, item.name === undefined ? k : item.name], depth, said }]);
      });
    }
    const drawing = content.linkage;
    if (drawing) {
      found.push(["Bars", null]);
      const bars = Array.isArray(drawing.bars) ? Object.fromEntries(drawing.bars.map((bar) => [[].concat(bar.points || bar).join("-").replace(/[ ,]+/g, "-"), bar])) : drawing.bars || {};
      for (const name of Object.keys(bars)) found.push(["bars", { section: "bars", name, at: ["linkage", "bars", name], depth: 0, said: [].concat((bars[name] || {}).points || bars[name]).join(" "), fixed: Array.isArray(drawing.bars) }]);
      if (drawing.springs) { found.push(["Springs and dampers", null]); for (const name of Object.keys(drawing.springs)) found.push(["springs", { section: "springs", name, at: ["linkage", "springs", name], depth: 0, said: "" }]); }
    }
    return found;
  }

  show() {
    const items = this.items(), real = items.filter(([, item]) => item).map(([, item]) => item);
    const kept = this.chosen && real.find((item) => item.section === this.chosen.section && item.name === this.chosen.name);
    this.chosen = kept || real[Math.min(1, real.length - 1)];
    this.tree.replaceChildren(this.adding(), ...items.map(([title, item]) => {
      if (!item) return element("h3", { textContent: title });
      const row = button("", () => this.choose(item), { className: "item" });
      row.setAttribute("role", "treeitem");
      row.setAttribute("aria-selected", item === this.chosen);
      row.style.paddingLeft = `${0.5 + 0.8 * item.depth}rem`;
      row.append(element("span", { textContent: item.name }), element("small", { textContent: item.said }));
      item.row = row;
      return row;
    }));
    this.listed = real;
    this.showCard();
    this.desk.highlight(this.chosen.section === "bodies" || this.chosen.section === "bars" ? this.chosen.name : "");
  }

  choose(item) { this.chosen = item; this.show(); }
  chooseBody(name) {
    const item = (this.listed || []).find((own) => ["bodies", "bars"].includes(own.section) && own.name === name);
    if (item && item !== this.chosen) { this.choose(item); item.row.scrollIntoView({ block: "nearest" }); }
  }

  adding() {
    if (this.content.linkage) return element("div", { className: "actions" }, button("Change the drawing", () => this.desk.draw(this.content.linkage)));
    if (this.content.table) return element("div", { className: "actions" }, button("Table of rows", () => this.choose(this.listed.find((item) => item.section === "robot"))));
    const options = [["", "+ Add …"], ["bodies", "Body with a joint"], ["loops", "Loop: a joint between two bodies"], ["frames", "Frame"], ["tendons", "Spring or damper"], ["shapes", "Shape that may touch"], ["actuators", "Actuator"]];
    const made = choice("Add", options, "", (section) => { made.value = ""; if (section) this.add(section); });
    return element("div", { className: "actions" }, made);
  }

  free(stem) {
    const taken = new Set([...this.desk.told.bodies, ...Object.keys(LISTS).flatMap((key) => (this.content[key] || []).map((item) => item.name))]);
    for (let k = 1; ; k++) if (!taken.has(`${stem} ${k}`)) return `${stem} ${k}`;
  }

  add(section) {
    const { told } = this.desk, body = this.chosen && this.chosen.section === "bodies" ? this.chosen.name : told.bodies[told.bodies.length - 1];
    const at = [0.5 * this.desk.size(), 0, 0].map((x) => Number(x.toPrecision(2)));
    const item = {
      bodies: () => ({ name: this.free("body"), parent: body, joint: { kind: "revolute", axis: "z" }, placement: { position: at }, mass: 1, com: at.map((x) => 0.5 * x), inertia: [0.001, 0.01, 0.01] }),
      loops: () => ({ name: this.free("loop"), kind: "revolute", axis: "z", predecessor: told.base, successor: body, placement: { position: at } }),
      frames: () => ({ name: this.free("frame"), body }),
      tendons: () => ({ name: this.free("spring"), points: [{ body: told.base, position: [0, 0, 0] }, { body, position: at }], stiffness: 100, rest: at[0], damping: 1 }),
      shapes: () => ({ name: this.free("shape"), body, kind: "capsule", radius: Number((0.06 * this.desk.size()).toPrecision(1)), length: Number((0.3 * this.desk.size()).toPrecision(1)) }),
      actuators: () => ({ name: this.free("actuator"), joint: told.joints.find((name) => name.startsWith(body)) || told.joints[0] }),
    }[section]();
    if (section === "shapes") this.desk.shows("shapes");
    this.chosen = { section, name: item.name };
    this.desk.change({ do: "add", section, item }).catch((problem) => this.desk.say(problem.message));
  }

  // ---------------------------------------------------------------- the card

  showCard() {
    const { chosen, desk } = this, rows = [], own = deep(this.content, chosen.at) || {};
    const value = Array.isArray(own) || typeof own === "string" ? { points: own } : own;
    if (chosen.section !== "robot") {
      const named = typeof chosen.at[1] === "string" && chosen.section in LISTS && chosen.section !== "couplings";
      const name = element("input", { value: chosen.name, ariaLabel: "Name", className: "name", readOnly: !named });
      const problem = element("p", { className: "problem" });
      name.onchange = () => this.commit(problem, { do: "rename", section: chosen.section, old: chosen.name, new: name.value.trim() }, () => { this.chosen = { ...chosen, name: name.value.trim() }; });
      rows.push(element("div", { className: "head" }, name, LISTS[chosen.section] ? button("Remove", () => this.remove(chosen, problem)) : null), problem);
    }
    const slides = this.slides(chosen.section, value), groups = { first: [], more: [] };
    const alone = chosen.section === "bodies" && !value.parent;  // its joints are listed apart
    for (const field of this.fields[chosen.section] || []) if (!(field.only && !field.only.includes(value.kind)) && !(alone && ["joint", "placement"].includes(field.at[0]))) groups[field.more ? "more" : "first"].push(this.row(field, value, slides));
    if (chosen.section === "bodies" && value.joint) groups.first.splice(3, 0, element("h4", { textContent: "Joint" }));
    if (this.content.table && chosen.section === "robot") rows.push(...this.table());
    else if (this.content.linkage && chosen.section === "robot") rows.push(this.row({ at: ["gravity"], label: "gravity", form: "list", units: ["m/s²", "m/s²"], help: "In the plane of the drawing." }, this.content.linkage, false, ["linkage"]));
    this.card.replaceChildren(...rows, ...(this.content.linkage && chosen.section === "robot" ? [] : groups.first), ...(groups.more.length ? [section(chosen.section === "shapes" ? "More of its surface" : "More numbers of the joint", false, ...groups.more)] : []));
  }

  slides(part, value) {
    const joint = part === "bodies" ? value.joint : value, kind = typeof joint === "string" ? joint : (joint || {}).kind;
    return Boolean((this.fields.kinds[kind] || {}).slides);
  }

  async remove(chosen, problem) {
    try {
      const { removed } = await this.desk.change({ do: "remove", section: chosen.section, name: chosen.section in LISTS ? chosen.at[1] : chosen.name });
      this.desk.say(`Removed ${removed.join(", ")}`);
    } catch (error) { problem.textContent = error.message; }
  }

  async commit(problem, edit, done) {
    problem.textContent = "";
    try {
      if (done) done();
      await this.desk.change(edit);
      return true;
    } catch (error) {
      problem.textContent = error.message.replace(/^[^\n:]*\.yaml(, line \d+)?: /, "");
      return false;
    }
  }

  // One field: its label with a unit, what is typed, and what the library says of it.
  row(field, value, slides, before = this.chosen.at) {
    const own = field.units[slides ? 1 : 0], unit = own === "m" && before[0] === "linkage" ? this.content.linkage.units || "m" : own, problem = element("p", { className: "problem", role: "alert" });
    const raw = typeof deep(value, field.at.slice(0, 1)) === "string" && field.at.length > 1 ? (field.at[1] === "kind" ? deep(value, field.at.slice(0, 1)) : undefined) : deep(value, field.at);
    const at = [...before, ...field.at], put = (to, input) => this.commit(problem, { do: "set", at, to }).then((good) => { if (input) input.classList.toggle("wrong", !good); });
    const make = { number: () => this.typed(raw, unit, field, put), vector: () => this.vector(raw, unit, put), list: () => this.typedList(raw, put), word: () => this.word(raw, put), flag: () => this.flag(raw, field, value, put), kind: () => this.kind(raw, field, value, put, at, problem), body: () => choice(field.label, [...new Set([raw, this.desk.told.base, ...this.desk.told.bodies, ...(before[0] === "shapes" ? (this.content.frames || []).map((own) => own.name) : [])])].filter(Boolean).map((name) => [name]), raw, (to) => put(to)), ends: () => this.ends(raw, put), solid: () => this.solid(value, problem), joint: () => this.oneOf(field.label, this.desk.told.joints, raw, put), tendon: () => this.oneOf(field.label, (this.content.tendons || []).map((own) => own.name), raw, put) }[field.form];
    const label = unit && this.desk.units.label(unit) !== "1" ? `${field.label} [${this.desk.units.label(unit)}]` : field.label;
    return element("div", { className: `field ${field.form}`, title: field.help || "" }, element("label", { textContent: label }), make(), problem);
  }

  input(text, more = {}) {
    const made = element("input", { value: text, spellcheck: false, autocomplete: "off", ...more });
    made.onkeydown = (e) => { if (e.key === "Escape") { made.value = text; made.blur(); } else if (e.key === "Enter") made.blur(); };
    return made;
  }

  typed(raw, unit, field, put) {
    const usual = this.usual(field, unit);
    const made = this.input(Array.isArray(raw) ? raw.join(" ") : this.numbers.shown(raw, unit), { placeholder: usual, ariaLabel: field.label });
    made.onchange = () => { const parts = made.value.trim().split(/[;\s]+(?=[-+.\d])/).filter(Boolean); put(made.value.trim() === "" ? null : parts.length > 1 ? parts.map((part) => this.numbers.read(part, unit)) : this.numbers.read(made.value, unit), made); };
    return made;
  }

  // What a number is if the file does not say it here.
  usual(field, unit) {
    const drawing = this.content.linkage, name = field.at[field.at.length - 1];
    if (this.chosen.section === "bars" && name === "mass") return short(this.desk.told.masses[this.chosen.name], 6);
    if (this.chosen.section === "bars" && drawing[name] !== undefined) return String(drawing[name]);
    return field.usual === null || field.usual === undefined ? (field.infinite ? "no limit" : "") : this.numbers.shown(field.usual, unit);
  }

  vector(raw, unit, put) {
    const given = Array.isArray(raw) ? raw : ["0", "0", "0"];
    const inputs = given.map((x, k) => this.input(this.numbers.shown(x, unit), { ariaLabel: "xyz"[k] }));
    inputs.forEach((input, k) => { input.onchange = () => put(inputs.map((own, i) => (i === k || !Array.isArray(raw) ? this.numbers.read(own.value || "0", unit) : asRead(given[i]))), input); });
    return element("div", { className: "three" }, ...inputs);
  }

  typedList(raw, put) {
    const made = this.input(Array.isArray(raw) ? raw.map((x) => (Array.isArray(x) ? x.join(" ") : x)).join("  ") : "");
    made.onchange = () => put(made.value.trim() === "" ? null : made.value.trim().split(/[\s,;]+/).map(asRead), made);
    return made;
  }

  word(raw, put) { const made = this.input([].concat(raw || []).join(" ")); made.onchange = () => put(made.value.trim() || null, made); return made; }

  flag(raw, field, value, put) {
    const usual = Boolean((this.fields.kinds[this.kindOf(value)] || {}).driven);
    const made = element("input", { type: "checkbox", checked: raw === undefined ? usual : raw === "true" });
    made.onchange = () => put(made.checked);
    return made;
  }

  kindOf(value) { const joint = value.joint === undefined ? value : value.joint; return typeof joint === "string" ? joint : (joint || {}).kind; }

  kind(raw, field, value, put, at, problem) {
    const joint = field.at.length > 1 ? value.joint : value, chosen = choice("Kind of joint", Object.keys(this.fields.kinds).map((name) => [name]), raw, (to) => put(to));
    const parameters = ((this.fields.kinds[raw] || {}).parameters || []).map(({ name, usual }) => {
      const own = typeof joint === "object" ? joint[name] : undefined, place = [...at.slice(0, -1), name];
      if (name.startsWith("axis") && !Array.isArray(own)) {
        const axes = [...new Set([own, ...this.fields.axes])].filter(Boolean);
        return choice(name, axes.map((axis) => [axis]), own || usual, (to) => this.commit(problem, { do: "set", at: place, to }));
      }
      const made = this.input(Array.isArray(own) ? own.join(" ") : own === undefined ? "" : own, { placeholder: `${name}${usual === null ? "" : ` ${usual}`}`, ariaLabel: name });
      made.onchange = () => { const parts = made.value.trim().split(/[\s,;]+/).map(asRead); this.commit(problem, { do: "set", at: place, to: made.value.trim() === "" ? null : parts.length > 1 ? parts : parts[0] }); };
      return made;
    });
    return element("div", { className: "pair" }, chosen, ...parameters);
  }

  oneOf(label, names, raw, put) { return choice(label, [["", "none"], ...names.map((name) => [name])], raw || "", (to) => put(to || null)); }

  // Another kind of shape has other sizes, so the whole entry changes.
  solid(value, problem) {
    const { solids } = this.fields, kinds = [...new Set([value.kind, ...Object.keys(solids)])];
    return choice("Kind of shape", kinds.map((name) => [name, name.replace("_", " ")]), value.kind, (kind) => {
      const sizes = new Set(Object.values(solids).flatMap(Object.keys)), kept = Object.entries(value).filter(([key]) => !sizes.has(key) && !["kind", "file", "scale"].includes(key));
      this.commit(problem, { do: "set", at: this.chosen.at, to: { ...numbered(Object.fromEntries(kept)), kind, ...solids[kind] } });
    });
  }

  ends(raw, put) {
    const given = (raw || []).map((end) => (typeof end === "string" ? { body: end, position: ["0", "0", "0"] } : { position: ["0", "0", "0"], ...end }));
    const changed = (k, part) => put(given.map((end, i) => ({ ...end, position: end.position.map(asRead), ...(i === k ? part : {}) })));
    return element("div", {}, ...given.map((end, k) => element("div", { className: "end" }, choice("Body", [...new Set([end.body, this.desk.told.base, ...this.desk.told.bodies])].map((name) => [name]), end.body, (body) => changed(k, { body })), this.vector(end.position, "m", (position) => changed(k, { position })))));
  }

  // ---------------------------------------------------------------- the table of an arm

  table() {
    const { table } = this.content, rows = table.rows || [], khalil = table.convention === "khalil", problem = element("p", { className: "problem", role: "alert" });
    const columns = khalil ? ["gamma", "b", "alpha", "d", "theta", "r", "mass"] : ["a", "alpha", "d", "theta", "mass"];
    const heads = { a: "a [m]", d: "d [m]", b: "b [m]", r: "r [m]", mass: "mass [kg]", alpha: "α", theta: "θ", gamma: "γ" }, turns = table.degrees && table.degrees !== "false" ? " [deg]" : " [rad]";
    const set = (at, to) => this.commit(problem, { do: "set", at: ["table", ...at], to });
    const head = element("tr", {}, element("th"), ...columns.map((name) => element("th", { textContent: heads[name].length === 1 ? heads[name] + turns : heads[name] })), element("th", { textContent: "joint" }), element("th"));
    const lines = rows.map((row, k) => element("tr", {}, element("td", { textContent: k + 1 }), ...columns.map((name) => {
      const made = this.input(row[name] === undefined ? "" : row[name], { placeholder: "0", ariaLabel: `${name} of row ${k + 1}` });
      made.onchange = () => set(["rows", k, name], made.value.trim() === "" ? null : asRead(made.value.trim()));
      return element("td", {}, made);
    }), element("td", {}, choice(`joint of row ${k + 1}`, [["revolute"], ["prismatic"], ["fixed"]], row.joint || "revolute", (to) => set(["rows", k, "joint"], to))), element("td", {}, button("×", () => set(["rows"], rows.filter((_, i) => i !== k).map(numbered)), { className: "plain", title: `Remove row ${k + 1}` }))));
    const more = button("+ Row", () => { const last = rows[rows.length - 1] || {}; set(["rows"], [...rows, { ...last, name: undefined, joint_name: undefined, a: last.a === undefined || Number(last.a) === 0 ? "1" : last.a }].map(numbered)); });
    const convention = choice("Convention", [["modified", "Craig (modified)"], ["standard", "Denavit-Hartenberg (standard)"]], table.convention || "modified", (to) => set(["convention"], to));
    return [element("h4", { textContent: "Denavit-Hartenberg table" }), khalil ? null : element("div", { className: "pair" }, convention), element("div", { className: "scroll" }, element("table", { className: "dh" }, head, ...lines)), problem, element("div", { className: "actions" }, more)].filter(Boolean);
  }
}

const asRead = (text) => { const plain = String(text).trim(); return PLAIN_NUMBER.test(plain) ? Number(plain) : plain; };
const numbered = (value) => (Array.isArray(value) ? value.map(numbered) : value !== null && typeof value === "object" ? Object.fromEntries(Object.entries(value).filter(([, x]) => x !== undefined).map(([key, x]) => [key, ["name", "joint_name"].includes(key) ? x : numbered(x)])) : asRead(value));
