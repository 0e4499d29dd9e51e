// The motion that joints are to make: points at times, in a table and as curves whose points can be dragged.

const KIND_WORDS = { "cubic spline": "cubic spline", quintic: "quintic, smoother", cycloid: "cycloid, stops at points", trapezoid: "trapezoid, stops at points", "constant speed": "constant speed" };
const TYPED = /^([-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)\s*(°|deg|rad|mm|cm|m|s|ms)?$/i;
const TO_SI = { "°": Math.PI / 180, deg: Math.PI / 180, rad: 1, mm: 1e-3, cm: 1e-2, m: 1, s: 1, ms: 1e-3 };
const FIRST_SECONDS = 2, FIRST_STEP = Math.PI / 3;

class MotionForm {
  constructor(panel) {
    Object.assign(this, { panel, doing: "a field", rows: [], kinds: [] });
    this.node = element("div", { className: "form" });
  }

  get desk() { return this.panel.desk; }
  get units() { return this.desk.units; }
  get joints() { return this.panel.offers.joints; }

  forget() { Object.assign(this, { rows: [], result: null }); }

  // Take over the motion that was computed last, or begin with one from the pose that is seen.
  begin(last) {
    if (this.rows.length && !last) last = this.known;
    const { joints } = this, names = joints.map((j) => j.name), known = last, same = known && known.joints.length && known.joints.every((name) => names.includes(name));
    if (same) {
      const column = names.map((name) => known.joints.indexOf(name)), { q } = this.desk.app;
      this.rows = known.times.map((t, i) => ({ t, x: joints.map((joint, k) => (column[k] >= 0 ? known.points[i][column[k]] : i ? null : q[joint.q])) }));
      this.kinds = column.map((k) => (k >= 0 ? known.kinds[k] : known.kinds[0]));
    } else this.fresh();
    this.start = last && last.q.length === this.desk.app.facts.nq ? Float64Array.from(last.q) : this.desk.app.q;
    this.make();
  }

  fresh() {
    const { app } = this.desk, { joints } = this, at = joints.map((joint) => app.q[joint.q]);
    const there = joints.map((joint, k) => {
      if (k) return at[k];
      const known = app.facts.joints.find((j) => j.name === joint.name), step = joint.unit === "m" ? 0.2 * app.show.size : FIRST_STEP;
      return known ? app.mechanism.moveJoint(app.q, known, at[k] + step).q[joint.q] : at[k];
    });
    this.rows = [{ t: 0, x: at }, { t: FIRST_SECONDS, x: there }];
    this.kinds = joints.map(() => "quintic");
    this.start = app.q;
  }

  content() {
    const { rows, start, desk: { app } } = this, q = [...(app.mechanism.close(start) || start)];
    return (this.known = { kind: "motion", q, joints: this.joints.map((j) => j.name), kinds: [...this.kinds], times: rows.map((row) => row.t), points: rows.map((row) => [...row.x]), values: this.panel.values() });
  }

  // A point at a time, with the positions of what is seen.
  add(t, x) {
    this.rows.push({ t, x });
    this.rows.sort((a, b) => a.t - b.t);
    this.changed();
  }

  addPose() {
    const { app } = this.desk, last = this.rows[this.rows.length - 1], x = this.joints.map((joint) => app.q[joint.q]);
    if (!this.rows.length) { this.start = app.q; this.add(0, x); return; }
    this.add(Number((last.t + Math.max(last.t / (this.rows.length - 1) || 1, 0.1)).toPrecision(3)), x);
  }

  changed() {
    this.make();
    this.panel.changed();
  }

  problem(where, text) { this.told.textContent = text; }

  number(text, unit, now) {
    const found = TYPED.exec(text.trim().replace(",", "."));
    if (!found) { this.told.textContent = `${text.trim() ? `"${text.trim()}"` : "An empty field"} is not a number: type one such as 45, 45 deg or 0.2 m.`; return now; }
    this.told.textContent = "";
    return Number(found[1]) * (found[2] ? TO_SI[found[2].toLowerCase()] : 1 / this.units.shown(1, unit));
  }

  field(value, unit, label, act, empty = false) {
    const text = () => (value() === null ? "" : short(this.units.shown(value(), unit), 6)), made = element("input", { value: text(), ariaLabel: label, inputMode: "decimal", spellcheck: false, placeholder: empty ? "–" : "" });
    made.onchange = () => { if (empty && made.value.trim() === "") act(null); else { const x = this.number(made.value, unit, NaN); if (Number.isFinite(x)) act(x); } };
    made.onkeydown = (e) => { if (e.key === "Enter") made.blur(); };
    return made;
  }

  make() {
    const { joints, units } = this;
    this.told = element("p", { className: "problem", role: "alert" });
    const head = element("tr", {}, element("th", { textContent: "t [s]" }), ...joints.map((joint) => element("th", { textContent: `${joint.name} [${units.label(joint.unit)}]` })), element("th"));
    const how = element("tr", {}, element("td"), ...joints.map((joint, k) => element("td", {}, choice(`How ${joint.name} moves`, this.panel.offers.kinds.map((kind) => [kind, KIND_WORDS[kind]]), this.kinds[k], (kind) => { this.kinds[k] = kind; this.panel.changed(); }))), element("td"));
    const rows = this.rows.map((row, i) => element("tr", {}, element("td", {}, this.field(() => row.t, "s", `time of point ${i + 1}`, (t) => { row.t = t; this.changed(); })), ...joints.map((joint, k) => element("td", {}, this.field(() => row.x[k], joint.unit, `${joint.name} at point ${i + 1}`, (x) => { row.x[k] = x; this.changed(); }, i > 0))), element("td", {}, button("×", () => { this.rows.splice(i, 1); if (this.rows.length) this.rows[0].t = 0; this.changed(); }, { className: "plain", title: `Remove point ${i + 1}` }))));
    const all = joints.length > 1 ? choice("How all joints move", [["", "all joints …"], ...this.panel.offers.kinds.map((kind) => [kind, KIND_WORDS[kind]])], "", (kind) => { if (kind) { this.kinds = joints.map(() => kind); this.changed(); } }) : null;
    this.editor = new MotionEditor(this);
    this.node.replaceChildren(
      element("div", { className: "actions" }, button("+ Point at the pose shown", () => this.addPose(), { className: "main" }), ...(all ? [all] : [])),
      this.editor.node, this.told,
      element("div", { className: "scroll" }, element("table", { className: "dh points" }, head, how, ...rows)),
      element("p", { className: "hint", textContent: "Drag points, or type. A double press adds one. Or drag the robot, and add the pose." }),
    );
    this.editor.draw();
  }

  shown(result) { this.result = result; this.editor.draw(); }
  refresh() { if (this.editor) this.editor.needle(); }
}

// Positions over time, with points that can be dragged; joints of one unit share a picture.
class MotionEditor {
  constructor(form) {
    this.form = form;
    this.pictures = [...new Set(form.joints.map((j) => j.unit))].map((unit) => ({ unit, svg: drawn("svg", { class: "editor", role: "img", "aria-label": "Positions over time" }) }));
    this.node = element("div", {}, ...this.pictures.map(({ svg }) => svg));
    for (const picture of this.pictures) this.listen(picture);
  }

  get wide() { return this.pictures[0] ? this.pictures[0].svg.clientWidth || 320 : 320; }

  frame(picture) {
    const { form } = this, { result } = form, columns = [...form.joints.keys()].filter((k) => form.joints[k].unit === picture.unit);
    const end = Math.max(form.rows.length ? form.rows[form.rows.length - 1].t : 1, 1e-3), values = form.rows.flatMap((row) => columns.map((k) => row.x[k])).filter((x) => x !== null);
    const curves = columns.map((k) => (result && result.time ? Array.from(result.time, (t, i) => [t, result.of("q", i)[form.joints[k].q]]) : []));
    const all = [...values, ...curves.flat().map(([, x]) => x)];
    let [low, high] = [Math.min(...all), Math.max(...all)];
    if (!(high > low)) [low, high] = [low - 0.5, low + 0.5];
    const room = 0.12 * (high - low), tall = 130, left = 52, right = this.wide - 10;
    [low, high] = [low - room, high + room];
    const x = (t) => left + (t / end) * (right - left), y = (v) => tall - 18 - ((v - low) / (high - low)) * (tall - 26);
    return { columns, curves, end, low, high, x, y, tall, left, right, time: (px) => ((px - left) / (right - left)) * end, value: (py) => low + ((tall - 18 - py) / (tall - 26)) * (high - low) };
  }

  draw() {
    for (const picture of this.pictures) {
      const frame = picture.held ? picture.frame : this.frame(picture), { svg, unit } = picture, { form } = this, { units } = form;
      picture.frame = frame;
      svg.setAttribute("viewBox", `0 0 ${this.wide} ${frame.tall}`);
      const scale = units.shown(1, unit), step = stepOfAxis(frame.low * scale, frame.high * scale), lines = [], stepX = roundStep(frame.end, 5);
      for (let v = Math.ceil(frame.low * scale / step) * step; v <= frame.high * scale; v += step) lines.push(drawn("line", { class: "grid", x1: frame.left, x2: frame.right, y1: frame.y(v / scale), y2: frame.y(v / scale) }), drawn("text", { x: frame.left - 12, y: frame.y(v / scale) + 4, "text-anchor": "end", text: written(Math.abs(v) < 1e-9 * step ? 0 : v, step) }));
      for (let t = 0; t <= frame.end * (1 + 1e-9); t += stepX) lines.push(drawn("text", { x: frame.x(t), y: frame.tall - 4, "text-anchor": "middle", text: written(t, stepX) }));
      const live = form.result ? this.frame(picture).curves : [];
      const curves = live.map((points, i) => drawn("polyline", { class: "curve", stroke: CURVE_COLORS[frame.columns[i] % CURVE_COLORS.length], points: points.map(([t, v]) => `${frame.x(t)},${frame.y(v)}`).join(" ") }));
      const handles = frame.columns.flatMap((k) => form.rows.flatMap((row, i) => (row.x[k] === null ? [] : [drawn("circle", { class: "handle", cx: frame.x(row.t), cy: frame.y(row.x[k]), r: 6, fill: CURVE_COLORS[k % CURVE_COLORS.length], "data-row": i, "data-joint": k })])));
      const needle = drawn("line", { class: "needle", x1: 0, x2: 0, y1: 8, y2: frame.tall - 18 });
      svg.replaceChildren(...lines, ...curves, needle, ...handles);
      picture.needle = needle;
    }
    this.needle();
  }

  needle() {
    const { app } = this.form.desk;
    for (const { needle, frame } of this.pictures) {
      if (!needle) continue;
      const seen = app && app.mode === "shown" && this.form.panel.tab === "motion";
      needle.setAttribute("visibility", seen ? "visible" : "hidden");
      if (seen) for (const end of ["x1", "x2"]) needle.setAttribute(end, frame.x(app.time));
    }
  }

  place(picture, e) { const box = picture.svg.getBoundingClientRect(); return [(e.clientX - box.left) * (this.wide / box.width), (e.clientY - box.top) * (picture.frame.tall / box.height)]; }

  listen(picture) {
    const { svg } = picture, { form } = this;
    svg.onpointerdown = (e) => {
      const { row, joint } = e.target.dataset;
      if (row === undefined) return;
      e.preventDefault();
      svg.setPointerCapture(e.pointerId);
      picture.held = { row: form.rows[row], joint: Number(joint) };
    };
    svg.onpointermove = (e) => {
      if (!picture.held) return;
      const [px, py] = this.place(picture, e), { frame, held } = picture, { units } = form, scale = units.shown(1, picture.unit);
      const k = form.rows.indexOf(held.row), round = (x, step) => Number((Math.round(x / step) * step).toPrecision(12));
      held.row.x[held.joint] = round(frame.value(py) * scale, roundStep((frame.high - frame.low) * scale, 200)) / scale;
      if (k > 0) {
        const least = roundStep(frame.end, 200), after = form.rows[k + 1];
        held.row.t = Math.min(Math.max(round(frame.time(px), least), form.rows[k - 1].t + least), after ? after.t - least : Infinity);
      }
      this.draw();
      form.panel.changed();
    };
    svg.onpointerup = () => { if (picture.held) { picture.held = null; form.changed(); } };
    svg.ondblclick = (e) => {
      const [px] = this.place(picture, e), { frame } = picture, t = Number(frame.time(px).toPrecision(3)), { result } = form;
      if (!(t > 0) || !result || e.target.dataset.row !== undefined) return;
      form.add(t, form.joints.map((joint) => result.of("q", result.at(t))[joint.q]));
    };
  }
}
