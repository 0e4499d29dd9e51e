// What the studio computed: a motion or a simulation, played in the scene with the numbers of each moment.

const GROUND_COLOR = [0.2, 0.6, 0.3, 1];

// Samples of a run, as the server sent them.
class RunResult {
  constructor(told, content, beside) { Object.assign(this, { notes: told.notes, seconds: told.seconds, ...content, beside }); }

  get end() { return this.time[this.time.length - 1]; }
  get count() { return this.time.length; }
  of(key, k) { const width = this[key].length / this.count; return this[key].subarray(width * k, width * (k + 1)); }

  // The sample nearest to a time.
  at(time) {
    const { time: all } = this;
    let [low, high] = [0, all.length - 1];
    while (high - low > 1) { const middle = (low + high) >> 1; if (all[middle] <= time) low = middle; else high = middle; }
    return time - all[low] <= all[high] - time ? low : high;
  }

  moment(k) {
    const wrenches = this.of("wrenches", k);
    return { q: this.of("q", k), v: this.of("v", k), tau: this.of("tau", k), wrenches, kinetic: this.kinetic[k], potential: this.potential[k], quality: 1 };
  }
}

class PlayedPage extends LivePage {
  // Play a result, from the same share of it as the one before.
  showRun(result, playing) {
    const share = this.mode === "shown" && this.played ? this.time / this.played.end : 0;
    Object.assign(this, { mode: "shown", played: result, playing, path: null, pathKey: "" });
    this.makeCurves();
    this.seek(share * result.end);
    this.bar.update();
    this.say("");
  }

  // Arrows of the forces of the ground at this moment.
  groundArrows(scene) {
    const { played, show } = this, robot = scene.main;
    if (this.mode !== "shown" || !show.shown.forces || !played.spots.length) return [];
    const forces = played.of("ground", this.sample), usual = Math.max(this.usualForce, 1e-9);
    return played.spots.flatMap((place, k) => {
      const force = [...forces.subarray(3 * k, 3 * k + 3)];
      if (place.body < 0 || !(norm(force) > 1e-3 * usual)) return [];
      const at = robot.point(place), length = Math.min((0.25 * show.size) / usual, (0.6 * show.size) / norm(force));
      return scene.arrow(at, add(at, scaled(force, length)), 0.6 * scene.radius, GROUND_COLOR);
    });
  }

  get hasForces() { return super.hasForces || this.mode === "shown"; }

  seek(time) {
    if (this.mode !== "shown") { super.seek(time); return; }
    const { played } = this, end = played.end || 1;
    this.time = time > end ? time % end : Math.max(time, 0);
    this.sample = played.at(this.time);
    this.told = played.moment(this.sample);
    this.see(Float64Array.from(this.told.q));
    this.redraw();
  }

  // Where the design beside this one is at this moment, if the same was computed of it.
  besideState() { return this.mode === "shown" && this.played.beside ? Float64Array.from(this.played.beside.of("q", Math.min(this.sample, this.played.beside.count - 1))) : undefined; }

  moments() { return this.mode === "shown" ? [...this.played.time].map((t, k) => ({ t, q: this.played.of("q", k), told: this.played.moment(k) })) : super.moments(); }

  makeCurves() {
    if (this.mode !== "shown") { super.makeCurves(); return; }
    this.curves.plot = null;
    this.curves.node.replaceChildren(element("p", { className: "hint", textContent: "Curves of what was computed are below the scene." }));
  }

  reset() { if (this.mode === "shown") { this.playing = false; this.seek(0); this.refresh(); } else super.reset(); }

  frame(now) {
    if (this.mode === "shown" && this.playing) {
      const seconds = this.before === undefined ? 0 : Math.min((now - this.before) / 1000, 0.5);
      this.before = now;
      this.seek(this.time + this.pace * seconds);
    }
    super.frame(now);
  }

  refresh() {
    super.refresh();
    if (this.desk && this.desk.runs) this.desk.runs.drawCurves();
  }
}
