// A search for dimensions: what may change, what is wanted and within which limits; the result is one edit.

class DesignForm {
  constructor(panel) {
    Object.assign(this, { panel, doing: "Find", set: null });
    this.node = element("div", { className: "form" });
    this.view = element("div", { className: "design-view" });
  }

  get desk() { return this.panel.desk; }
  get units() { return this.desk.units; }
  get offered() { return this.panel.offers.design; }
  forget() { this.set = null; this.view.replaceChildren(); }
  opened() { if (!this.view.children.length) this.view.replaceChildren(element("p", { className: "hint", textContent: this.offered ? "Tick the numbers that may change, say what is wanted, and press Find. The design that is found is one edit, which can be undone; the one before stays beside it as B." : "A search for dimensions is for mechanisms with closed loops, such as a four-bar." })); }
  stale() {}

  begin(last) {
    if (!this.offered) { this.node.replaceChildren(element("p", { className: "hint", textContent: "This robot has no closed loops." })); return; }
    const { free } = this.offered, chosen = this.set && this.set.free, usual = Object.fromEntries(free.map((one) => [one.name, { low: one.low, high: one.high, on: false }]));
    if (!this.set && last) this.set = { free: Object.fromEntries(last.free.map((name, k) => [name, { low: last.lows[k], high: last.highs[k], on: true }])), wanted: last.wanted, limits: last.limits, speed: last.speed, starts: last.starts };
    if (!this.set) this.set = { free: {}, wanted: [{ kind: "torque", by: "peak" }], limits: [], speed: 2 * Math.PI, starts: 4 };
    this.set.free = { ...usual, ...Object.fromEntries(Object.entries(chosen || this.set.free).filter(([name, one]) => name in usual && one.on)) };
    this.make();
  }

  content() {
    const { set } = this, free = Object.entries(set.free).filter(([, one]) => one.on);
    return { kind: "design", q: [...this.desk.app.q], free: free.map(([name]) => name), lows: free.map(([, one]) => one.low), highs: free.map(([, one]) => one.high), wanted: set.wanted, limits: set.limits, speed: set.speed, starts: set.starts };
  }

  problem(where, text) { for (const [place, node] of Object.entries(this.told)) node.textContent = place === (where in this.told ? where : "design") ? text : ""; }

  input(value, unit, label, act) {
    const made = element("input", { value: value === null || value === undefined ? "" : short(this.units.shown(value, unit), 6), ariaLabel: label, inputMode: "decimal" });
    made.onchange = () => { const found = TYPED.exec(made.value.trim().replace(",", ".")); made.classList.toggle("wrong", !found); if (found) act(Number(found[1]) * (found[2] ? TO_SI[found[2].toLowerCase()] : 1 / this.units.shown(1, unit))); else this.problem("design", `${label}: "${made.value}" is not a number.`); };
    return made;
  }

  freeTable() {
    const { units, set } = this;
    const rows = this.offered.free.map((one) => {
      const own = set.free[one.name], tick = element("input", { type: "checkbox", checked: own.on, ariaLabel: `${one.name} may change` });
      tick.onchange = () => { own.on = tick.checked; };
      const end = (key) => element("td", {}, this.input(own[key], one.unit, `${key === "low" ? "least" : "largest"} ${one.name}`, (x) => { own[key] = x; own.on = tick.checked = true; }));
      return element("tr", {}, element("td", {}, element("label", {}, tick, element("span", { textContent: one.name }))), element("td", { textContent: short(units.shown(one.value, one.unit), 4) }), end("low"), end("high"), element("td", { textContent: units.label(one.unit) }));
    });
    return element("div", { className: "scroll free" }, element("table", { className: "dh" }, element("tr", {}, ...["may change", "now", "least", "largest", ""].map((text) => element("th", { textContent: text }))), ...rows));
  }

  goal(own, list, bounded) {
    const { goals, lists, means } = this.offered, known = goals.find((one) => one.name === own.kind), again = () => this.make(), number = list.indexOf(own) + 1, word = bounded ? "limit" : "goal";
    const which = known.unit ? `[${this.units.label(known.unit)}]` : "";
    const alone = own.kind === "transmission angle";  // a mechanism has one that matters, unless another is meant
    if (known.of && !alone && !lists[known.of].includes(own.of)) own.of = lists[known.of][0];
    const parts = [choice(`Kind of ${word} ${number}`, goals.filter((one) => !bounded || one.name !== "path").map((one) => [one.name, one.words]), own.kind, (kind) => { Object.assign(own, { kind, of: "" }); again(); })];
    if (known.of) parts.push(choice(`Of what is ${word} ${number}`, [...(alone ? [["", "of the output"]] : []), ...lists[known.of].map((name) => [name])], own.of || "", (name) => { own.of = name; }));
    if (known.by) parts.push(choice(`How ${word} ${number} is measured`, means.map((name) => [name]), own.by || "peak", (by) => { own.by = by; }));
    if (own.kind === "path") parts.push(this.points(own));
    if (bounded) {
      const side = own.high === null || own.high === undefined ? "low" : "high";
      parts.push(choice(`Side of limit ${number}`, [["low", "at least"], ["high", "at most"]], side, (to) => { const x = own[side]; own[side] = null; own[to] = x; again(); }), this.input(own[side], known.unit, `bound of limit ${number} ${which}`, (x) => { own[side] = x; }), element("span", { className: "hint", textContent: this.units.label(known.unit) }));
    } else if (list.length > 1) parts.push(this.input(own.weight || 1, "", `weight of goal ${number}`, (x) => { own.weight = x; }));
    parts.push(button("×", () => { list.splice(list.indexOf(own), 1); again(); }, { className: "plain", title: `Remove ${word} ${number}` }));
    return element("div", { className: "goal" }, ...parts);
  }

  points(own) {
    const scale = this.units.shown(1, "m"), made = element("input", { value: (own.points || []).map(([x, y]) => `${short(x * scale, 5)} ${short(y * scale, 5)}`).join("; "), placeholder: `x y; x y; … [${this.units.label("m")}]`, ariaLabel: "Points of the path" });
    made.onchange = () => { own.points = made.value.split(";").map((pair) => pair.trim().split(/[\s,]+/).map((x) => Number(x) / scale)).filter((pair) => pair.length === 2 && pair.every(Number.isFinite)); };
    return made;
  }

  make() {
    if (!this.offered) return;
    const { set, units } = this, typed = (label, key, unit) => element("div", { className: "field" }, element("label", { textContent: unit ? `${label} [${units.label(unit)}]` : label }), this.input(set[key], unit, label, (x) => { set[key] = key === "starts" ? Math.round(x) : x; }));
    this.told = Object.fromEntries(["free", "design"].map((name) => [name, element("p", { className: "problem", role: "alert" })]));
    this.node.replaceChildren(
      section("What may change", true, this.freeTable(), this.told.free),
      section("What is wanted", true, ...set.wanted.map((own) => this.goal(own, set.wanted, false)), element("div", { className: "actions" }, button("+ Goal", () => { set.wanted.push({ kind: "transmission angle" }); this.make(); }))),
      section("Within limits", true, ...set.limits.map((own) => this.goal(own, set.limits, true)), element("div", { className: "actions" }, button("+ Limit", () => { set.limits.push({ kind: "transmission angle", low: Math.PI / 4, high: null }); this.make(); }))),
      section("Search", false, typed("speed of the drive", "speed", "rad/s"), typed("starts (0: as many as it takes)", "starts", "")),
      this.told.design, element("div", { className: "actions" }, button("Find", () => this.panel.compute(), { className: "main" })),
    );
  }

  // The design that was found becomes the robot, and the one before is kept beside it.
  async accept(told, found) {
    const { desk, units } = this, number = (x, unit) => `${short(units.shown(x, unit), 4)} ${units.label(unit)}`;
    const goals = found.goals.map((one) => element("tr", {}, element("td", { textContent: one.bound === null ? one.name : `${one.name}, ${one.wanted} ${number(one.bound, one.unit)}` }), element("td", { textContent: number(one.before, one.unit) }), element("td", { textContent: number(one.after, one.unit) }), element("td", { textContent: one.bound === null ? "" : one.met ? "met" : "missed" })));
    const numbers = found.numbers.map((one) => element("tr", {}, element("td", { textContent: one.name }), element("td", { textContent: number(one.before, one.unit) }), element("td", { textContent: number(one.after, one.unit) }), element("td", { textContent: one.at ? `at its ${one.at === "low" ? "least" : "largest"}` : "" })));
    const head = (text) => element("tr", {}, ...[text, "before (B)", "now", ""].map((words) => element("th", { textContent: words })));
    this.view.replaceChildren(element("h4", { textContent: found.solved ? "All that was asked is met" : "Not all that was asked is met: this is the best that was found" }), ...found.notes.concat(told.ended ? ["The search was stopped; this is the best until then."] : []).map((text) => element("p", { className: "hint", textContent: text })), element("div", { className: "scroll" }, element("table", { className: "compared" }, head("goals"), ...goals, head("numbers"), ...numbers)), element("p", { className: "hint", textContent: "This is one edit: undo brings the design before back." }));
    if (found.text === desk.told.text) return;
    await desk.keepBeside();
    await desk.change({ do: "replace", text: found.text, title: `design for ${this.set.wanted.map((own) => own.kind).join(", ")}` });
    desk.say(`Found: ${found.goals.filter((one) => one.bound === null).map((one) => `${one.name} ${number(one.after, one.unit)}, before ${number(one.before, one.unit)}`).join("; ")}.`);
  }

  refresh() {}
}
