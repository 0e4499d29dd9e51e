// A linkage by points: pins and bars are clicked in a plane; the library's own drawing of it then runs.

const GRID = 5;            // millimeters to which clicks snap
const VIEW = 300;          // millimeters that are seen across at first
const GRABBED = 9;         // pixels within which a point is meant
const STEEL = { width: 12, thickness: 5, density: 7850 };
const TOOLS = {
  bar: ["Bars", "Click points one after the other: bars join them. Click the last point once more, or press Esc, to end the chain."],
  ground: ["Ground pin", "Click points that are pinned to the ground."],
  motor: ["Motor", "Click the pin that a motor turns, or the slider that it pushes."],
  slider: ["Slider", "Click a point that slides on the ground: along x, again along y, again not."],
  move: ["Move", "Drag points. With any tool, points can be dragged."],
  erase: ["Erase", "Click a point or a bar."],
};

class Drawing {
  constructor(node, desk) {
    Object.assign(this, { node, desk, tool: "bar" });
    this.svg = drawn("svg", { class: "plane", tabindex: 0, role: "application", "aria-label": "The plane of the linkage" });
    this.hint = element("p", { className: "hint" });
    this.problem = element("p", { className: "problem", role: "alert" });
    this.list = element("div", { className: "numbers" });
    this.tools = element("div", { className: "modes", role: "group", ariaLabel: "Tools" }, ...Object.entries(TOOLS).map(([name, [title]]) => { const made = button(title, () => this.choose(name)); made.dataset.tool = name; return made; }));
    node.append(
      element("div", { className: "head" }, button("kinetree studio", () => desk.toStart(), { className: "brand" }), this.tools, button("↶", () => this.back(), { title: "Take back the last click", ariaLabel: "Take back" }), element("span", { className: "grow" }), button("Run it", () => this.run(), { className: "main" })),
      element("div", { className: "drawn" }, element("div", { className: "paper" }, this.svg, this.hint), element("aside", {}, this.problem, this.list)),
    );
    this.svg.addEventListener("pointerdown", (e) => this.down(e));
    this.svg.addEventListener("pointermove", (e) => this.moved(e));
    this.svg.addEventListener("pointerup", (e) => this.up(e));
    this.svg.addEventListener("wheel", (e) => { e.preventDefault(); this.across *= Math.exp(0.0012 * e.deltaY); this.draw(); }, { passive: false });
    addEventListener("keydown", (e) => {
      if (node.hidden || e.target.tagName === "INPUT") return;
      if (e.key === "Escape") { this.last = null; this.draw(); } else if ((e.ctrlKey || e.metaKey) && e.key.toLowerCase() === "z") { e.preventDefault(); this.back(); }
    });
    new ResizeObserver(() => { if (!node.hidden) this.draw(); }).observe(this.svg);
  }

  // Begin with an empty plane, or with the drawing of the linkage that is open.
  begin(linkage) {
    this.given = linkage || null;
    this.steps = [];
    this.now = { points: {}, bars: {}, ground: [], motor: "", sliders: {} };
    this.across = VIEW;
    this.center = [0, 0];
    this.last = null;
    this.problem.textContent = "";
    if (linkage) {
      const words = (x) => (Array.isArray(x) ? x : String(x || "").split(/[\s,]+/).filter(Boolean));
      const bars = Array.isArray(linkage.bars) ? Object.fromEntries(linkage.bars.map((bar) => [words(bar.points || bar).join("-"), bar])) : linkage.bars;
      const motor = linkage.motor && typeof linkage.motor === "object" && !Array.isArray(linkage.motor) ? Object.keys(linkage.motor) : words(linkage.motor);
      this.now = { points: JSON.parse(JSON.stringify(linkage.points)), bars: Object.fromEntries(Object.entries(bars).map(([name, bar]) => [name, bar && bar.points ? { ...bar, points: words(bar.points) } : { points: words(bar) }])), ground: words(linkage.ground), motor: motor[0] || "", sliders: Object.fromEntries(Object.entries(linkage.sliders || {}).map(([p, own]) => [p, own])) };
      this.factor = { m: 1000, cm: 10, mm: 1, in: 25.4 }[linkage.units || "m"] || 1;
      const measured = Object.keys(this.now.points).filter((p) => !Array.isArray(this.now.points[p])), { places } = this.desk.told;
      for (const p of Object.keys(this.now.points)) this.now.points[p] = measured.includes(p) || !this.now.points[p].every((x) => PLAIN_NUMBER.test(x)) ? places[p].map((x) => 1000 * x) : this.now.points[p].map((x) => this.factor * Number(x));
      if (measured.length) this.problem.textContent = `${measured.join(", ")}: given by distances in the file, and by coordinates once the drawing is changed here.`;
      const all = Object.values(this.now.points), low = [0, 1].map((k) => Math.min(...all.map((p) => p[k]))), high = [0, 1].map((k) => Math.max(...all.map((p) => p[k])));
      this.center = [0, 1].map((k) => 0.5 * (low[k] + high[k]));
      this.across = 1.8 * Math.max(high[0] - low[0], high[1] - low[1], 10);
    }
    this.choose(linkage ? "move" : "bar");
  }

  choose(tool) {
    Object.assign(this, { tool, last: null });
    for (const made of this.tools.children) made.setAttribute("aria-pressed", made.dataset.tool === tool);
    this.hint.textContent = TOOLS[tool][1];
    this.draw();
  }

  step(change) {
    this.steps.push(JSON.stringify(this.now));
    this.problem.textContent = "";
    change(this.now);
    this.draw();
  }

  back() { if (this.steps.length) { this.now = JSON.parse(this.steps.pop()); this.last = null; this.draw(); } }

  // ---------------------------------------------------------------- pointer

  size() { const box = this.svg.getBoundingClientRect(); return [box.width || 600, box.height || 400]; }
  scale() { const [wide, tall] = this.size(); return Math.min(wide, 1.4 * tall) / this.across; }
  seen([x, y]) { const [wide, tall] = this.size(), s = this.scale(); return [0.5 * wide + s * (x - this.center[0]), 0.5 * tall - s * (y - this.center[1])]; }
  place(e) { const box = this.svg.getBoundingClientRect(), s = this.scale(); return [this.center[0] + (e.clientX - box.left - 0.5 * box.width) / s, this.center[1] - (e.clientY - box.top - 0.5 * box.height) / s]; }

  near(e) {
    const box = this.svg.getBoundingClientRect(), away = ([, p]) => { const [u, v] = this.seen(p); return Math.hypot(u - (e.clientX - box.left), v - (e.clientY - box.top)); };
    const found = Object.entries(this.now.points).sort((a, b) => away(a) - away(b))[0];
    return found && away(found) < (e.pointerType === "touch" ? 2.2 : 1.4) * GRABBED ? found[0] : "";
  }

  down(e) { this.svg.setPointerCapture(e.pointerId); this.held = { point: this.near(e), from: this.place(e), at: [e.clientX, e.clientY], dragged: false, before: JSON.stringify(this.now) }; }

  moved(e) {
    const { held } = this, here = this.place(e);
    this.pointer = here;
    if (!held) { if (this.last) this.draw(); return; }
    if (!held.dragged && Math.hypot(e.clientX - held.at[0], e.clientY - held.at[1]) < 5) return;
    held.dragged = true;
    if (held.point) this.now.points[held.point] = this.snapped(here);
    else this.center = this.center.map((c, k) => c - (here[k] - held.from[k]));
    this.draw();
  }

  up(e) {
    const { held } = this;
    this.held = null;
    if (!held) return;
    if (held.dragged) { if (held.point) { this.steps.push(held.before); this.problem.textContent = ""; } this.draw(); return; }
    this.click(held.point, this.snapped(this.place(e)), e);
  }

  snapped(place) { return place.map((x) => GRID * Math.round(x / GRID)); }
  name() { for (let k = 0; ; k++) { const name = k < 26 ? String.fromCharCode(65 + k) : `P${k}`; if (!(name in this.now.points) && !(name in this.now.bars)) return name; } }

  click(point, place, e) {
    if (this.tool === "bar") {
      if (point && point === this.last) { this.last = null; this.draw(); return; }
      this.step((now) => {
        const here = point || this.name();
        if (!point) now.points[here] = place;
        if (this.last && !Object.values(now.bars).some((bar) => bar.points.includes(here) && bar.points.includes(this.last))) now.bars[`${this.last}-${here}`] = { points: [this.last, here] };
        this.last = here;
      });
    } else if (this.tool === "erase" && !point) {
      const bar = e.target.dataset && e.target.dataset.bar;
      if (bar) this.step((now) => { delete now.bars[bar]; });
    } else if (point && this.tool !== "move") {
      this.step((now) => ({
        ground: () => { now.ground = now.ground.includes(point) ? now.ground.filter((p) => p !== point) : [...now.ground, point]; delete now.sliders[point]; },
        motor: () => { now.motor = now.motor === point ? "" : point; },
        slider: () => { const along = (now.sliders[point] || {}).along || now.sliders[point]; if (along === "x") now.sliders[point] = "y"; else if (along) delete now.sliders[point]; else now.sliders[point] = "x"; now.ground = now.ground.filter((p) => p !== point); },
        erase: () => {
          delete now.points[point];
          for (const [name, bar] of Object.entries(now.bars)) { bar.points = bar.points.filter((p) => p !== point); if (bar.points.length < 2) delete now.bars[name]; }
          now.ground = now.ground.filter((p) => p !== point);
          delete now.sliders[point];
          if (now.motor === point) now.motor = "";
        },
      })[this.tool]());
    }
  }

  // ---------------------------------------------------------------- the picture

  draw() {
    const { now } = this, [wide, tall] = this.size(), parts = [], s = this.scale(), step = roundStep(this.across, 10);
    this.svg.setAttribute("viewBox", `0 0 ${wide} ${tall}`);
    const [left, top] = [this.center[0] - wide / s / 2, this.center[1] + tall / s / 2];
    for (let x = Math.ceil(left / step) * step; x < left + wide / s; x += step) { const [u] = this.seen([x, 0]); parts.push(drawn("line", { class: x === 0 ? "axis" : "grid", x1: u, x2: u, y1: 0, y2: tall }), drawn("text", { class: "tick", x: u + 3, y: tall - 4, text: x })); }
    for (let y = Math.floor(top / step) * step; y > top - tall / s; y -= step) { const [, v] = this.seen([0, y]); parts.push(drawn("line", { class: y === 0 ? "axis" : "grid", y1: v, y2: v, x1: 0, x2: wide }), drawn("text", { class: "tick", x: 3, y: v - 3, text: `${y} mm` })); }
    Object.entries(now.bars).forEach(([name, bar], k) => {
      const at = bar.points.map((p) => now.points[p]).filter(Boolean).map((p) => this.seen(p)), color = CURVE_COLORS[(k + 1) % CURVE_COLORS.length];
      const shape = drawn("polygon", { class: "bar", points: at.map((p) => p.join(",")).join(" "), stroke: color, fill: at.length > 2 ? color : "none", "fill-opacity": 0.25 });
      shape.dataset.bar = name;
      parts.push(shape);
      if (at.length === 2) parts.push(drawn("text", { class: "length", x: 0.5 * (at[0][0] + at[1][0]) + 6, y: 0.5 * (at[0][1] + at[1][1]) - 6, text: `${short(Math.hypot(...sub([...now.points[bar.points[0]], 0], [...now.points[bar.points[1]], 0])), 4)}` }));
    });
    if (this.last && this.pointer && now.points[this.last]) { const [a, b] = [this.seen(now.points[this.last]), this.seen(this.snapped(this.pointer))]; parts.push(drawn("line", { class: "next", x1: a[0], y1: a[1], x2: b[0], y2: b[1] })); }
    for (const [name, place] of Object.entries(now.points)) {
      const [u, v] = this.seen(place), along = (now.sliders[name] || {}).along || now.sliders[name];
      if (now.ground.includes(name)) parts.push(drawn("path", { class: "pin", d: `M${u} ${v}l-10 17h20z M${u - 15} ${v + 17}h30` }));
      if (along) parts.push(drawn("path", { class: "pin", d: along === "y" ? `M${u - 7} ${v - 13}h14v26h-14z M${u - 11} ${v - 32}v64` : `M${u - 13} ${v - 7}h26v14h-26z M${u - 32} ${v + 11}h64` }));
      if (now.motor === name) parts.push(drawn("path", { class: "motor", d: `M${u - 17} ${v}a17 17 0 1 1 8 14.5l-3 -6m3 6l7 -1` }));
      parts.push(drawn("circle", { class: name === this.last ? "point last" : "point", cx: u, cy: v, r: 6 }), drawn("text", { class: "name", x: u + 10, y: v - 9, text: name }));
    }
    this.svg.replaceChildren(...parts);
    if (!this.held) this.tell();
  }

  // Points and bars as numbers.
  tell() {
    const { now } = this, rows = Object.entries(now.points).map(([name, place]) => element("tr", {}, element("td", { textContent: name }), ...[0, 1].map((k) => {
      const input = element("input", { value: Number(place[k].toPrecision(8)), ariaLabel: `${"xy"[k]} of ${name}` });
      input.onchange = () => { const x = Number(input.value.replace(",", ".")); if (input.value.trim() && Number.isFinite(x)) this.step((own) => { own.points[name][k] = x; }); else input.classList.add("wrong"); };
      return element("td", {}, input);
    }), element("td", { textContent: [now.ground.includes(name) && "ground", now.sliders[name] && "slider", now.motor === name && "motor"].filter(Boolean).join(", ") })));
    const bars = Object.entries(now.bars).map(([name, bar]) => {
      const input = element("input", { value: name, ariaLabel: `Name of the bar ${name}` });
      input.onchange = () => this.step((own) => { own.bars = Object.fromEntries(Object.entries(own.bars).map(([key, x]) => [key === name ? input.value.trim() || name : key, x])); });
      return element("tr", {}, element("td", {}, input), element("td", { textContent: bar.points.join(" ") }));
    });
    const missing = [now.ground.length + Object.keys(now.sliders).length < 1 && "pins to the ground", !now.motor && "a motor"].filter(Boolean);
    this.list.replaceChildren(...(rows.length ? [
      element("h4", { textContent: "Points [mm]" }), element("table", { className: "dh" }, element("tr", {}, ...["", "x", "y", ""].map((text) => element("th", { textContent: text }))), ...rows),
      element("h4", { textContent: "Bars" }), element("table", { className: "dh" }, ...bars),
      element("p", { className: "hint", textContent: missing.length ? `Still missing: ${missing.join(", ")}.` : this.given ? "" : `Bars are of steel, ${STEEL.width} mm wide and ${STEEL.thickness} mm thick; masses can be changed later.` }),
    ] : [element("p", { className: "hint", textContent: "Nothing is drawn yet." })]));
  }

  // What the file says of it.
  written() {
    const { now, given } = this, factor = given ? this.factor : 1, { points: _, bars: __, ground: ___, motor: ____, sliders: _____, ...others } = given || { units: "mm", ...STEEL };
    const points = Object.fromEntries(Object.entries(now.points).map(([p, place]) => [p, place.map((x) => Number((x / factor).toPrecision(15)))]));
    const bars = Object.fromEntries(Object.entries(now.bars).map(([name, bar]) => [name, Object.keys(bar).length > 1 ? { ...numbered({ ...bar, points: undefined }), points: bar.points } : bar.points]));
    const more = { ...(now.motor ? { motor: [now.motor] } : {}), ...(Object.keys(now.sliders).length ? { sliders: now.sliders } : {}) };
    return { ...numbered(others), ...(others.units ? { units: others.units } : {}), points, bars, ground: now.ground, ...more };
  }

  async run() {
    this.problem.textContent = "";
    try {
      const linkage = this.written();
      if (this.given) await this.desk.change({ do: "set", at: ["linkage"], to: linkage });
      else {
        await this.desk.open({ text: `kinetree: 1\nname: linkage\nlinkage:\n${inLines(linkage)}` });
        if (this.desk.app) this.desk.app.playSoon();
      }
    } catch (problem) { this.problem.textContent = problem.message.replace(/^[^\n:]*\.yaml(, line \d+)?: /, ""); }
  }
}

// A mapping as YAML with a line for each key, and for each key of its points and bars.
const inLines = (mapping, indent = "  ") => Object.entries(mapping).map(([key, value]) => `${indent}${JSON.stringify(key).replace(/^"([A-Za-z_]\w+)"$/, "$1")}:${value !== null && typeof value === "object" && !Array.isArray(value) && indent.length < 4 ? `\n${inLines(value, `${indent}  `)}` : ` ${JSON.stringify(value)}\n`}`).join("");
