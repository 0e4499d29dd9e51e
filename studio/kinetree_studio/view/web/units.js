// Units that numbers are shown in: SI, those that people use, or those that Python was asked for.

const EVERYDAY = {
  rad: ["deg", Math.PI / 180], "rad/s": ["rpm", Math.PI / 30], "rad/s^2": ["deg/s^2", Math.PI / 180],
  m: ["mm", 1e-3], "m/s": ["mm/s", 1e-3], "m/s^2": ["mm/s^2", 1e-3],
};

class Units {
  constructor(asked) {
    this.choices = [["rad, m", {}], ["deg, mm, rpm", EVERYDAY]];
    if (asked && Object.keys(asked).length) this.choices.push([[...new Set(Object.values(asked).map(([name]) => name))].filter((name) => !name.includes("/")).join(", "), asked]);
    this.chosen = asked && Object.keys(asked).length ? 2 : 0;
    this.listeners = [];
    this.select = element("select", { ariaLabel: "Units" }, ...this.choices.map(([name], k) => element("option", { value: k, textContent: name, selected: k === this.chosen })));
    this.select.onchange = () => { this.chosen = Number(this.select.value); for (const f of this.listeners) f(); };
  }

  label(unit) { const other = this.choices[this.chosen][1][unit]; return other ? other[0] : unit; }
  shown(value, unit) { const other = this.choices[this.chosen][1][unit]; return other ? value / other[1] : value; }
}
