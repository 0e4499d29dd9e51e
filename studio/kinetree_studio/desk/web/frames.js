// Frames of an arm, one displacement of its table after the other: the frame glides, with the matrix of the step beside it.

const MATH = "http://www.w3.org/1998/Math/MathML";
const GLIDE = 900;            // milliseconds of a step
const GREEK = { theta: "θ", alpha: "α", d: "d", a: "a" };
const ORDER = { modified: ["alpha", "a", "theta", "d"], standard: ["theta", "d", "a", "alpha"] };
const ALONG = { theta: 2, d: 2, alpha: 0, a: 0 };
const TURNS = { theta: true, alpha: true };
const MOVING = 1.45;          // how much larger the frame is that glides

const mathml = (tag, ...children) => {
  const made = document.createElementNS(MATH, tag);
  made.append(...children);
  if (tag === "mo" && children[0] && "()".includes(children[0])) made.setAttribute("stretchy", "false");
  return made;
};
const matrixOf = (rows) => mathml("mrow", mathml("mo", "["), mathml("mtable", ...rows.map((row) => mathml("mtr", ...row.map((x) => mathml("mtd", mathml("mn", short(Math.abs(x) < 1e-12 ? 0 : x, 3).replace("-", "−"))))))), mathml("mo", "]"));

// Poses as four columns: axes and origin.
const displaced = (name, value) => {
  const k = ALONG[name], [c, s] = [Math.cos(value), Math.sin(value)];
  const turn = k === 2 ? [[c, s, 0], [-s, c, 0], [0, 0, 1]] : [[1, 0, 0], [0, c, s], [0, -s, c]];
  return TURNS[name] ? [...turn, [0, 0, 0]] : [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 1, 2].map((i) => (i === k ? value : 0))];
};
const inFrame = ([x, y, z, o], v, point) => add(add(add(scaled(x, v[0]), scaled(y, v[1])), scaled(z, v[2])), point ? o : [0, 0, 0]);
const after = (f, g) => g.map((column, k) => inFrame(f, column, k === 3));
const AT_BASE = [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0]];

class Frames {
  constructor(desk) { Object.assign(this, { desk, table: null, at: 0, share: 1 }); }

  get page() { return this.desk.app; }

  async begin(convention) {
    this.table = await ask("frames", convention ? { convention } : {});
    Object.assign(this, { at: 0, share: 1, playing: false });
    this.page.toPose();
    this.page.seePose();
    this.draw();
  }

  end() {
    this.table = null;
    const node = document.getElementById("frames");
    if (node) node.remove();
    if (this.page) this.page.redraw();
  }

  // All displacements in order, with the numbers of the pose that is seen.
  steps() {
    const { convention, rows } = this.table, { q } = this.page;
    return rows.flatMap((row, k) => ORDER[convention].map((name) => ({ row: k, name, value: row[name] + (row.moved === name ? q[row.q] : 0), moved: row.moved === name })));
  }

  // The frames before each row, and the one that glides after so many displacements and a share of the last.
  reached() {
    let pose = AT_BASE;
    const steps = this.steps(), frames = [AT_BASE];
    steps.slice(0, this.at).forEach((own, k) => {
      pose = after(pose, displaced(own.name, own.value * (k === this.at - 1 ? this.share : 1)));
      if (k % 4 === 3 && (k < this.at - 1 || this.share === 1)) frames.push(pose);
    });
    return { steps, frames, pose };
  }

  marks() {
    if (!this.table || !this.page || this.page.waits) return [];
    const { frames, pose } = this.reached(), { scene, show } = this.page, long = 0.11 * show.size;
    const triad = ([x, y, z, o], size) => [x, y, z].flatMap((axis, k) => scene.arrow(o, add(o, scaled(axis, size * long)), 0.35 * size * scene.radius, AXIS_COLORS[k]));
    return [...frames.flatMap((own) => triad(own, 1)), ...triad(pose, MOVING)];
  }

  go(by) {
    const last = 4 * this.table.rows.length;
    if (by < 0) Object.assign(this, { at: Math.max(this.at - 1, 0), share: 1, playing: false });
    else if (this.at < last) {
      Object.assign(this, { at: this.at + 1, share: 0, from: performance.now() });
      if (this.page.still) this.share = 1; else requestAnimationFrame(() => this.glide());
    } else this.playing = false;
    this.draw();
  }

  glide() {
    if (!this.table || !this.page) return;
    const t = Math.min((performance.now() - this.from) / GLIDE, 1);
    this.share = t * t * (3 - 2 * t);
    this.page.redraw();
    if (t < 1) requestAnimationFrame(() => this.glide());
    else { this.draw(); if (this.playing) this.go(1); }
  }

  // What the step does, in words: "turn by θ = 30 deg about z".
  words({ name, value }) {
    const { units } = this.page, unit = TURNS[name] ? "rad" : "m", axis = "xyz"[ALONG[name]];
    return `${TURNS[name] ? "turn by" : "move by"} ${GREEK[name]} = ${short(units.shown(value, unit), 4)} ${units.label(unit)} ${TURNS[name] ? "about" : "along"} ${axis}`;
  }

  product(step) {
    const { convention } = this.table, now = (name) => this.at > 0 && name === step.name;
    const factor = (name) => { const made = mathml("mrow", mathml("msub", mathml("mi", TURNS[name] ? "R" : "T"), mathml("mi", "xyz"[ALONG[name]])), mathml("mo", "("), mathml("msub", mathml("mi", GREEK[name]), mathml("mn", String(step.row + 1))), mathml("mo", ")")); if (now(name)) made.setAttribute("class", "now"); return made; };
    return mathml("math", mathml("msub", mathml("mi", "A"), mathml("mn", String(step.row + 1))), mathml("mo", "="), ...ORDER[convention].map(factor));
  }

  draw() {
    const { steps, pose } = this.reached(), step = steps[Math.max(this.at - 1, 0)], rows = this.table.rows.length, column = ([x, y, z, o]) => [0, 1, 2, 3].map((i) => (i < 3 ? [x[i], y[i], z[i], o[i]] : [0, 0, 0, 1]));
    const convention = choice("Convention", [["modified", "Craig (modified)"], ["standard", "Denavit-Hartenberg (standard)"]], this.table.convention, (name) => this.begin(name).catch((problem) => this.desk.say(problem.message)));
    const node = document.getElementById("frames") || element("div", { id: "frames" });
    const told = this.at ? `Row ${step.row + 1} of ${rows}, ${this.table.rows[step.row].name}: ${this.words(step)}${step.moved ? " (the joint)" : ""}` : `${rows} rows, each of four displacements. The frame begins at the base.`;
    node.replaceChildren(
      element("div", { className: "head" }, convention, button("‹", () => this.go(-1), { title: "The step before", disabled: !this.at }), button("Next step", () => { this.playing = false; this.go(1); }, { className: "main", disabled: this.at >= steps.length }), button("All", () => { if (this.at >= steps.length) this.at = 0; this.playing = true; this.go(1); }, { title: "One step after the other" }), element("span", { className: "grow" }), button("×", () => this.end(), { className: "plain", title: "Close", ariaLabel: "Close the frames" })),
      element("p", { textContent: told }),
      element("div", { className: "matrices" }, this.product(step), ...(this.at ? [mathml("math", mathml("mrow", ...[mathml("msub", mathml("mi", TURNS[step.name] ? "R" : "T"), mathml("mi", "xyz"[ALONG[step.name]])), mathml("mo", "="), matrixOf(column(displaced(step.name, step.value)))])), mathml("math", mathml("mrow", mathml("mi", "so far"), mathml("mo", "="), matrixOf(column(pose))))] : [])),
    );
    document.getElementById("stage").append(node);
    this.page.redraw();
  }
}

// ------------------------------------------------------------------ formulas of equations of motion

const OF_MATH = new Set(["mrow", "mi", "mn", "mo", "msub", "msup", "msubsup", "mfrac", "msqrt", "mfenced", "mtable", "mtr", "mtd", "mover", "mtext", "mstyle", "math"]);

// MathML that is text becomes elements: known ones, with their text and nothing else.
function safeMath(node) {
  if (node.nodeType === Node.TEXT_NODE) return node.data.replace("-", "−");
  const children = [...node.childNodes].map(safeMath);
  if (node.nodeName === "mfenced") return mathml("mrow", mathml("mo", "("), ...children, mathml("mo", ")"));
  return OF_MATH.has(node.nodeName) ? mathml(node.nodeName, ...children) : mathml("mtext", node.textContent);
}

function typesetFormula({ letter, at, formula }) {
  const { documentElement } = new DOMParser().parseFromString(`<math xmlns="${MATH}">${formula}</math>`, "application/xml");
  return mathml("math", mathml("msub", mathml("mi", letter), mathml("mn", at)), mathml("mo", "="), ...[...documentElement.childNodes].map(safeMath));
}

const motionLaw = () => mathml("math", mathml("mi", "M"), mathml("mo", "("), mathml("mi", "q"), mathml("mo", ")"), mathml("mi", "a"), mathml("mo", "+"), mathml("mi", "c"), mathml("mo", "("), mathml("mi", "q"), mathml("mo", ","), mathml("mi", "v"), mathml("mo", ")"), mathml("mo", "+"), mathml("mi", "g"), mathml("mo", "("), mathml("mi", "q"), mathml("mo", ")"), mathml("mo", "="), mathml("mi", "τ"));
