// A lesson beside the robot: steps with text, questions whose answers are checked, and things to do.

const IN_SI = { deg: Math.PI / 180, mm: 1e-3, rpm: Math.PI / 30 };
const CURVES = { torque: "Torque of motors", force: "Forces in joints", position: "Position", velocity: "Velocity" };

class Lesson {
  constructor(node, desk) { Object.assign(this, { node, desk, lesson: null }); }

  begin(lesson) { Object.assign(this, { lesson, at: 0 }); this.draw(); }
  end() { this.lesson = null; this.node.replaceChildren(); }

  // What is measured, in SI: over the turn or the run that is seen, or of the robot; null if there is none yet.
  measured(text) {
    const found = /^(peak|rms) (\w+) of (.+)$/.exec(text), mass = /^mass of (.+)$/.exec(text);
    if (mass) return this.desk.told.masses[mass[1]];
    if (!found) return Number(text);
    const { plot } = this.desk.app || {}, count = plot ? plot.times.length : 0;
    for (const group of plot ? plot.groups : []) {
      const k = group.title === CURVES[found[2]] ? group.names.indexOf(found[3]) : -1;
      if (k < 0) continue;
      const known = [...group.data.subarray(k * count, (k + 1) * count)].filter(Number.isFinite);
      return found[1] === "peak" ? Math.max(...known.map(Math.abs)) : Math.sqrt(known.reduce((sum, y) => sum + y * y, 0) / known.length);
    }
    return null;
  }

  part(part) {
    if (part.kind === "text") return element("p", { textContent: part.text.replace(/\*([^*]+)\*/g, "$1") });
    const told = element("span", { className: "told", role: "status" });
    const tell = (good, text) => { told.textContent = text; told.classList.toggle("good", good); };
    const none = () => tell(false, "There is no curve of that yet: turn the motor.");
    if (part.kind === "task") {
      const check = () => { const x = this.measured(part.of); if (x === null || x === undefined) { none(); return; } const good = part.sign === "<" ? x < Number(part.value) : x > Number(part.value); tell(good, good ? "Done" : `It is ${short(x, 3)}.`); };
      return element("div", { className: "question" }, element("p", { textContent: part.text }), button("Check", check), told);
    }
    const input = element("input", { ariaLabel: part.text, inputMode: "decimal" });
    const check = () => {
      const x = this.measured(part.of), typed = Number(input.value.replace(",", ".")) * (IN_SI[part.unit] || 1);
      if (x === null || x === undefined) none();
      else if (input.value.trim() === "" || !Number.isFinite(typed)) tell(false, "Type a number.");
      else { const good = Math.abs(typed - x) <= 0.01 * Number(part.within) * Math.abs(x); tell(good, good ? "Right" : "Not yet"); }
    };
    input.onkeydown = (e) => { if (e.key === "Enter") check(); };
    return element("div", { className: "question" }, element("p", { textContent: part.text }), element("span", { className: "pair" }, input, element("span", { textContent: part.unit }), button("Check", check)), told);
  }

  draw() {
    const { lesson, at } = this, step = lesson.steps[at], go = (by) => () => { this.at += by; this.draw(); };
    this.node.replaceChildren(
      element("div", { className: "head" }, element("b", { textContent: lesson.title }), button("×", () => this.end(), { className: "plain", title: "Leave the lesson" })),
      element("h4", { textContent: `${at + 1} of ${lesson.steps.length}: ${step.title}` }), ...step.parts.map((part) => this.part(part)),
      element("div", { className: "actions" }, at ? button("Back", go(-1)) : null, at + 1 < lesson.steps.length ? button("Next", go(1), { className: "main" }) : null),
    );
  }
}
