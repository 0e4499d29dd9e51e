// A lesson beside the robot: steps with text, questions whose answers are checked, and things to do.

const CURVES = { torque: "Torque of motors", force: "Forces in joints", position: "Position", velocity: "Velocity" };
const ANSWER = /^([+-]?(?:\d+(?:[.,]\d*)?|[.,]\d+)(?:e[+-]?\d+)?)\s*(\D.*)?$/i;

const orNull = (x) => (Number.isFinite(x) ? x : null);

class Lesson {
  constructor(node, desk) { Object.assign(this, { node, desk, lesson: null }); }

  begin(lesson) { Object.assign(this, { lesson, at: 0 }); this.draw(); }
  end() { this.lesson = null; this.node.replaceChildren(); }

  // What is measured, in SI: over the turn or the run that is seen, whatever curve is shown, or of the robot; null if
  // there is nothing of that yet.
  measured({ of, number }) {
    if (number !== null) return number;
    const mass = /^mass of (.+)$/.exec(of), found = /^(peak|rms) (\w+) of (.+)$/.exec(of), { app } = this.desk;
    if (mass) return orNull(this.desk.told.masses[mass[1]]);
    if (!app || !found) return null;
    for (const group of app.curves.groups()) {
      const k = group.title === CURVES[found[2]] ? group.names.indexOf(found[3]) : -1;
      if (k < 0) continue;
      const moments = app.moments(), [peak, rms] = peakAndRms(moments.map((s) => s.t), moments.map((s) => group.read(s, k)));
      return orNull(found[1] === "peak" ? Math.abs(peak) : rms);
    }
    return null;
  }

  // An answer in SI: a number in the unit beside the field, or with another unit of the same quantity; or what is wrong.
  answered(text, { unit, si, factor }) {
    const found = ANSWER.exec(text.trim()), { units } = this.lesson;
    if (!found) return "Type a number.";
    const number = Number(found[1].replace(",", "."));
    if (!found[2]) return number * factor;
    const own = units[found[2].replace(/²/g, "^2").replace(/°/g, "deg").replace(/[\s·⋅*]/g, "")];
    if (!own || own[0] !== si) return `Type a number in ${unit}.`;
    return number * own[1];
  }

  part(part) {
    if (part.kind === "text") return element("p", { textContent: part.text.replace(/\*([^*]+)\*/g, "$1") });
    const told = element("span", { className: "told", role: "status" });
    const tell = (good, text) => { told.textContent = text; told.classList.toggle("good", good); };
    const none = () => tell(false, `Not measured yet: ${this.desk.app && this.desk.app.mode === "run" ? "let it go on" : "turn the motor, or let it go"}.`);
    if (part.kind === "task") {
      const check = () => {
        const x = this.measured(part), limit = Number(part.value);
        if (x === null) { none(); return; }
        const good = part.sign === "<" ? x < limit : x > limit;
        tell(good, good ? "Done" : `It is ${short(x / part.factor, 3)} ${part.unit}.`);
      };
      return element("div", { className: "question" }, element("p", { textContent: part.text }), button("Check", check), told);
    }
    const input = element("input", { ariaLabel: part.text, inputMode: "decimal" });
    const check = () => {
      const x = this.measured(part), typed = this.answered(input.value, part);
      if (typeof typed === "string") tell(false, typed);
      else if (x === null) none();
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
