// Curves over time, with a needle at the present; a press or a drag on them goes to that time.

const CURVE_COLORS = ["#d1495b", "#3070b3", "#2e8b57", "#e6953b", "#8e5ea2", "#17a2b8", "#8c6d31", "#c2477f"];
const FIRST_SHOWN = 6;

function roundStep(span, count) {
  const rough = span / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  return power * [1, 2, 5, 10].find((k) => k * power >= rough * 0.999);
}

// The longest round step that leaves three lines between two ends, so that a curve about zero has a scale.
function stepOfAxis(low, high) {
  const lines = (step) => Math.floor(high / step) - Math.ceil(low / step) + 1;
  return [4, 5, 8, 10, 20].map((count) => roundStep(high - low, count)).find((step) => lines(step) >= 3) || roundStep(high - low, 20);
}

function written(value, step) {
  if (!Number.isFinite(value)) return "–";
  const digits = Math.max(0, Math.min(6, -Math.floor(Math.log10(step) + 1e-9)));
  return Math.abs(value) >= 1e5 ? value.toPrecision(3) : value.toFixed(digits);
}

class Plot {
  constructor(groups, times, seek, units) {
    this.groups = groups;
    this.units = units;
    this.times = times;
    this.group = groups[0];
    this.chosen = new Map(groups.map((g) => [g, this.moving(g)]));
    this.canvas = element("canvas", { className: "plot" });
    this.canvas.setAttribute("role", "img");
    this.chips = element("div", { className: "chips" });
    const titled = (g) => `${g.title} [${units.label(g.unit)}]`;
    this.select = element("select", { ariaLabel: "What is plotted" }, ...groups.map((g, k) => element("option", { value: k, textContent: titled(g) })));
    units.listeners.push(() => { groups.forEach((g, k) => { this.select.children[k].textContent = titled(g); }); this.draw(this.now, this.elsewhere); });
    this.select.onchange = () => { this.group = groups[this.select.value]; this.makeChips(); this.draw(this.now, this.elsewhere); };
    const wanted = (e) => {
      const box = this.canvas.getBoundingClientRect();
      const share = (e.clientX - box.left - this.left) / (box.width - this.left - this.right);
      const [begin, end] = [this.times[0], this.times[this.times.length - 1]];
      seek(begin + Math.min(Math.max(share, 0), 1) * (end - begin));
    };
    this.canvas.onpointerdown = (e) => { this.canvas.setPointerCapture(e.pointerId); wanted(e); };
    this.canvas.onpointermove = (e) => { if (e.buttons) wanted(e); };
    this.left = 46;
    this.right = 8;
    this.now = times[0];
    this.makeChips();
    this.node = element("div", {}, groups.length > 1 ? this.select : null, this.canvas, this.chips);
  }

  // Choose some curves to begin with: those in which something happens.
  moving(group) {
    const count = this.times.length;
    const spans = group.names.map((_, k) => {
      const known = group.data.subarray(k * count, (k + 1) * count).filter(Number.isFinite);
      return known.reduce((a, b) => Math.max(a, b), -Infinity) - known.reduce((a, b) => Math.min(a, b), Infinity);
    });
    const least = 1e-6 * Math.max(...spans, 0);
    const chosen = [...spans.keys()].filter((k) => spans[k] > least);
    return new Set((chosen.length ? chosen : [...spans.keys()]).slice(0, FIRST_SHOWN));
  }

  color(k) { return CURVE_COLORS[k % CURVE_COLORS.length]; }
  // The k-th curve, in the unit that is shown; with other data, that of a design beside this one.
  curve(k, data = this.group.data) {
    if (!data) return [];
    const values = data.subarray(k * this.times.length, (k + 1) * this.times.length);
    return this.units.label(this.group.unit) === this.group.unit ? values : values.map((y) => this.units.shown(y, this.group.unit));
  }

  makeChips() {
    const chosen = this.chosen.get(this.group);
    this.chips.replaceChildren(...this.group.names.map((name, k) => {
      const mark = element("i");
      mark.style.color = this.color(k);
      const chip = element("button", { className: "chip", type: "button" }, mark, element("span", { textContent: name }));
      chip.setAttribute("aria-pressed", chosen.has(k));
      chip.onclick = () => {
        if (!chosen.delete(k)) chosen.add(k);
        chip.setAttribute("aria-pressed", chosen.has(k));
        this.draw(this.now, this.elsewhere);
      };
      return chip;
    }));
  }

  range(chosen) {
    let [low, high] = [Infinity, -Infinity];
    for (const k of chosen) for (const own of [this.curve(k), this.curve(k, this.group.beside || null)]) for (const y of own) if (Number.isFinite(y)) { low = Math.min(low, y); high = Math.max(high, y); }
    if (!(high >= low)) return [0, 1];
    const room = 0.06 * (high - low) || 0.05 * Math.abs(high) || 1;
    return [low - room, high + room];
  }

  // Draw the curves with a needle at the present; none where what is seen is of no moment of the motion.
  draw(now, elsewhere) {
    this.now = now;
    this.elsewhere = elsewhere;
    this.node.classList.toggle("elsewhere", elsewhere);
    this.node.title = elsewhere ? "Of the motion, not of the pose that is seen; a press on the curves goes back to it." : "";
    const { canvas, times, left, right } = this;
    const [wide, tall] = [canvas.clientWidth, canvas.clientHeight];
    if (!wide || !tall) return;
    const ratio = window.devicePixelRatio || 1;
    if (canvas.width !== Math.round(wide * ratio)) canvas.width = Math.round(wide * ratio);
    if (canvas.height !== Math.round(tall * ratio)) canvas.height = Math.round(tall * ratio);
    const pen = canvas.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, wide, tall);
    const style = getComputedStyle(document.body);
    const [edge, faint, ink] = ["--edge", "--faint", "--ink"].map((name) => style.getPropertyValue(name));
    const [top, bottom] = [6, tall - 18];
    const chosen = [...this.chosen.get(this.group)].sort((a, b) => a - b);
    const [low, high] = this.range(chosen);
    const [begin, end] = [times[0], times[times.length - 1]];
    const x = (t) => left + ((t - begin) / (end - begin || 1)) * (wide - left - right);
    const y = (v) => bottom - ((v - low) / (high - low)) * (bottom - top);
    pen.font = "11px system-ui, sans-serif";
    pen.lineWidth = 1;
    pen.strokeStyle = edge;
    pen.fillStyle = faint;
    const stepY = stepOfAxis(low, high), stepX = roundStep(end - begin || 1, 5);
    pen.textAlign = "right";
    pen.textBaseline = "middle";
    for (let v = Math.ceil(low / stepY) * stepY; v <= high; v += stepY) {
      pen.beginPath(); pen.moveTo(left, y(v)); pen.lineTo(wide - right, y(v)); pen.stroke();
      pen.fillText(written(Math.abs(v) < 1e-9 * stepY ? 0 : v, stepY), left - 5, y(v));
    }
    pen.textAlign = "center";
    pen.textBaseline = "top";
    for (let t = Math.ceil(begin / stepX - 1e-9) * stepX; t <= end + 1e-9 * stepX; t += stepX) pen.fillText(written(t, stepX), Math.min(x(t), wide - 12), bottom + 4);
    pen.lineWidth = 1.6;
    pen.lineJoin = "round";
    for (const data of [this.group.beside || null, this.group.data]) for (const k of chosen) {
      const values = this.curve(k, data);
      pen.setLineDash(data === this.group.data ? [] : [5, 4]);
      const every = Math.max(1, Math.floor(values.length / (2 * wide)));
      pen.strokeStyle = this.color(k);
      pen.beginPath();
      let going = false;
      for (let i = 0; i < values.length; i += every) {
        if (!Number.isFinite(values[i])) { going = false; continue; }
        if (going) pen.lineTo(x(times[i]), y(values[i])); else pen.moveTo(x(times[i]), y(values[i]));
        going = true;
      }
      pen.stroke();
    }
    pen.setLineDash([]);
    if (!elsewhere) {
      pen.strokeStyle = ink;
      pen.lineWidth = 1;
      pen.beginPath(); pen.moveTo(x(now), top); pen.lineTo(x(now), bottom); pen.stroke();
    }
    const when = elsewhere ? "not of the pose that is seen" : `now ${written(now, 0.001)} s`;
    canvas.setAttribute("aria-label", `${this.group.title} over time, ${when}`);
    this.readout(now, elsewhere ? [] : chosen);
  }

  // Say on each chip what its curve is at the present.
  readout(now, chosen) {
    const at = this.times.findLastIndex((t) => t <= now + 1e-12);
    this.group.names.forEach((name, k) => {
      const value = chosen.includes(k) && at >= 0 ? this.curve(k)[at] : NaN;
      const text = Number.isFinite(value) ? `${name} ${Math.abs(value) < 1e-9 ? 0 : Number(value.toPrecision(3))}` : name;
      const label = this.chips.children[k].lastChild;
      if (label.textContent !== text) label.textContent = text;
    });
  }
}
