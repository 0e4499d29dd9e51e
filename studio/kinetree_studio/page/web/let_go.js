// A simulation from the pose that is seen: its steps, the samples that are kept of it, and whether energy is balanced.

const LONGEST_RUN = 4000;        // samples of a run that curves show
const SAMPLE = 1 / 60;           // seconds between two of them
const MOST_BEHIND = 0.1;         // seconds that a run catches up with at most in one picture

class LetGo {
  constructor(app) { Object.assign(this, { app, samples: [], works: [], origin: null, behind: 0 }); }

  // Begin anew from what is seen, or once more from where it began before.
  begin(fresh) {
    const { app } = this, { facts, mechanism } = app;
    if (fresh) {
      const v = app.mode === "turn" ? Float64Array.from(app.told.v) : app.zero;
      this.start = { q: app.q, v: app.knows ? v : app.zero };
      facts.drives.forEach((body, k) => { app.drive[3][k] = app.q[facts.joints.find((j) => j.body === body).q]; });
      app.write();
    }
    this.state = Float64Array.from([...this.start.q, ...this.start.v, ...new Array(facts.nz).fill(0), ...(mechanism.m ? [Infinity] : [])]);
    if (fresh) this.step = facts.step || mechanism.goodStep(this.state);
    Object.assign(this, { samples: [], behind: 0, origin: null });
    this.stride = Math.max(1, Math.round(SAMPLE / this.step));
    this.sampling = this.stride * this.step;
  }

  // Numbers changed while it runs: close again, with the same independent rates.
  join() {
    const { mechanism, facts: { nq, nv, nz }, zero } = this.app, q = mechanism.close(this.state.slice(0, nq)) || this.state.slice(0, nq);
    const { v } = mechanism.motion(q, this.state.slice(nq, nq + nv), zero);
    this.state.set(q);
    this.state.set(v, nq);
    this.state.fill(0, nq + nv, nq + nv + nz);
    this.origin = null;
    this.app.see(q);
  }

  take() {
    const { app, state } = this, { nq, nv, nz } = app.facts;
    const told = app.mechanism.state(app.time, state.slice(0, nq), state.slice(nq, nq + nv), state.slice(nq + nv, nq + nv + nz));
    const sample = { t: app.time, q: state.slice(0, nq), told: Object.fromEntries(Object.entries(told).map(([key, x]) => [key, typeof x === "number" ? x : x.slice()])), works: state.slice(nq + nv, nq + nv + nz) };
    this.samples.push(sample);
    if (this.samples.length > LONGEST_RUN) this.samples.shift();
    this.see(sample);
  }

  see(sample) { this.app.see(sample.q); this.app.told = sample.told; this.works = sample.works; }

  // The sample nearest to a time.
  at(time) {
    const k = Math.round((time - this.samples[0].t) / this.sampling);
    return this.samples[Math.min(Math.max(k, 0), this.samples.length - 1)];
  }

  get last() { return this.samples[this.samples.length - 1]; }

  // How far kinetic and potential energy are from what they were plus the work done.
  balance() {
    const { facts, told } = this.app, own = facts.works.length, works = this.works.slice(this.works.length - own).reduce((a, b) => a + b, 0);
    const total = told.kinetic + told.potential - works;
    if (this.origin === null) this.origin = total;
    return total - this.origin;
  }

  // Go on for so many seconds; false where it cannot.
  go(seconds) {
    const { app } = this;
    this.behind = Math.min(this.behind + seconds * app.pace, MOST_BEHIND * Math.max(app.pace, 1));
    while (this.behind >= this.sampling && app.playing) {
      const next = app.mechanism.steps(app.time, this.state, this.step, this.stride);
      if (!next) return false;
      this.state = next;
      app.time += this.sampling;
      this.behind -= this.sampling;
      this.take();
      this.balance();
    }
    return true;
  }
}
