// Moves a robot by hand: loops stay closed, joints stay within their limits, and what does not go further is said.

const CLOSED = 1e-10;        // gaps (m, rad) below this are closed
const LONGEST_MOVE = 0.5;    // rad: longer Newton steps may leave the branch
const STEP_OF_JOINT = 0.1;   // rad, or this share of the robot's size: how far a joint goes between two closings
const FINEST_END = 1e-7;     // an end is found to this share of such a step
const PULLS = 6;             // most steps of a drag for one picture
const ENDED = 1e-3;          // share of a freedom that closed loops leave of it, at its end
const STIFF = 1e-3;          // weight of moving joints against missing the pointer, in a drag

const STEPS = [5e-3, 2e-3, 1e-3, 5e-4, 2e-4, 1e-4];  // seconds, of a simulation
const BALANCED = 1e-6;       // error of the energy balance of a good step, as a fraction of the kinetic energy
const TRYING = 300;          // milliseconds that are spent on finding it

// Factor a symmetric matrix, rows one after the other, in place; false where it is not positive.
function factor(a, n) {
  for (let j = 0; j < n; j++) {
    let d = a[j * n + j];
    for (let k = 0; k < j; k++) d -= a[j * n + k] * a[j * n + k];
    if (!(d > 0)) return false;
    const root = Math.sqrt(d);
    a[j * n + j] = root;
    for (let i = j + 1; i < n; i++) {
      let s = a[i * n + j];
      for (let k = 0; k < j; k++) s -= a[i * n + k] * a[j * n + k];
      a[i * n + j] = s / root;
    }
  }
  return true;
}

// Solve with such factors, in place.
function solve(l, n, x) {
  for (let i = 0; i < n; i++) {
    for (let k = 0; k < i; k++) x[i] -= l[i * n + k] * x[k];
    x[i] /= l[i * n + i];
  }
  for (let i = n - 1; i >= 0; i--) {
    for (let k = i + 1; k < n; k++) x[i] -= l[k * n + i] * x[k];
    x[i] /= l[i * n + i];
  }
  return x;
}

// How many rows are independent: each is freed of those before it, the longest first.
function rank(given) {
  const rows = given.map((row) => Float64Array.from(row)), size = Math.max(...rows.map((row) => Math.hypot(...row)), 1e-300);
  let found = 0;
  while (rows.length) {
    const lengths = rows.map((row) => Math.hypot(...row)), longest = Math.max(...lengths);
    if (!(longest > 1e-7 * size)) break;
    const [pivot] = rows.splice(lengths.indexOf(longest), 1);
    for (const row of rows) {
      let along = 0;
      for (let j = 0; j < row.length; j++) along += row[j] * pivot[j];
      for (let j = 0; j < row.length; j++) row[j] -= (along / longest ** 2) * pivot[j];
    }
    found++;
  }
  return found;
}

class Mechanism {
  constructor(engine, facts, numbers) {
    Object.assign(this, { engine, facts, p: numbers });
    this.n = facts.nv;
    this.bodies = facts.path.length;
    this.rowOf = new Int32Array(facts.constraints).fill(-1);
    facts.rows.forEach((row, k) => { this.rowOf[row] = k; });
    this.m = facts.rows.length;
    this.reach = Float64Array.from(facts.slides, (slides) => (slides ? (0.5 * facts.size) ** 2 : 1));
  }

  look(q) {
    const { bodies, facts } = this;
    const out = this.engine.call("kinematics", { q, p: this.p });
    const gaps = 7 * bodies + 3, k = gaps + facts.constraints, axes = k + facts.pattern.length;
    return { poses: out.subarray(0, 7 * bodies), com: out.subarray(7 * bodies, gaps), gaps: out.subarray(gaps, k), k: out.subarray(k, axes), axes: out.subarray(axes) };
  }

  // The constraints that count, as lengths: K by rows, and gaps; positions apart from the pattern are zeros.
  constraints(q) {
    const { n, m, rowOf, facts } = this;
    const seen = this.look(q), k = new Float64Array(m * n), g = new Float64Array(m);
    facts.pattern.forEach(([i, j], at) => { if (rowOf[i] >= 0) k[rowOf[i] * n + j] = seen.k[at] * facts.weights[i]; });
    let size = 0, worst = 0;
    facts.rows.forEach((row, i) => { g[i] = seen.gaps[row] * facts.weights[row]; size += g[i] * g[i]; worst = Math.max(worst, Math.abs(seen.gaps[row])); });
    return { k, g, size, worst: Number.isNaN(size) ? NaN : worst };
  }

  move(q, v) { return this.engine.call("move", { q, v, p: this.p }).slice(); }

  // The shortest change that meets the constraints, where freedom j goes easily by the square root of weights[j].
  back({ k, g, size }, weights) {
    const { n, m } = this;
    const s = new Float64Array(m * m), x = Float64Array.from(g, (value) => -value);
    let trace = 0;
    for (let a = 0; a < m; a++) for (let b = 0; b <= a; b++) {
      let sum = 0;
      for (let j = 0; j < n; j++) sum += k[a * n + j] * weights[j] * k[b * n + j];
      s[a * m + b] = sum;
      if (a === b) trace += sum;
    }
    for (let a = 0; a < m; a++) s[a * m + a] += size + 1e-14 * trace + 1e-300;
    if (!factor(s, m)) return new Float64Array(n);
    solve(s, m, x);
    const v = new Float64Array(n);
    for (let j = 0; j < n; j++) { let sum = 0; for (let a = 0; a < m; a++) sum += k[a * n + j] * x[a]; v[j] = weights[j] * sum; }
    return v;
  }

  // The same way, no longer than one may go at once.
  shortened(v) {
    const longest = v.reduce((most, y, j) => Math.max(most, Math.abs(y) / Math.sqrt(this.reach[j])), 0);
    return longest > LONGEST_MOVE ? v.map((y) => (y * LONGEST_MOVE) / longest) : v;
  }

  // The nearest closed configuration, or null: damped Newton steps.
  close(q, weights = this.reach) {
    if (!this.m) return q;
    let at = q, here = this.constraints(at), v = this.shortened(this.back(here, weights)), share = 1, idle = 0;
    for (let k = 0; k < 60 && here.worst > 1e-15 && share > 1e-4 && idle < 3; k++) {
      const there = this.move(at, share === 1 ? v : v.map((x) => x * share)), next = this.constraints(there);
      if (next.size < here.size) {
        idle = next.size < 0.5 * here.size ? 0 : idle + (next.worst < CLOSED || next.size > 0.99 * here.size ? 1 : 0);
        [at, here, share] = [there, next, 1];
        v = this.shortened(this.back(here, weights));
      } else { share *= 0.25; if (here.worst < CLOSED) break; }
    }
    return here.worst < CLOSED ? at : null;
  }

  // The first joint beyond its limits, if any.
  beyond(q) { return this.facts.joints.find((j) => j.simple && (q[j.q] < j.lower - 1e-9 || q[j.q] > j.upper + 1e-9)); }

  // Move one coordinate to a value as far as loops and limits let it; other motors stay where they are if they can. With
  // a list of freedoms, these stay in any case.
  moveJoint(q, joint, value, held = null) {
    const { facts, reach } = this;
    const goal = Math.min(Math.max(value, joint.lower), joint.upper);
    const alone = reach.map((w, j) => (j === joint.v ? 0 : w));
    const still = alone.map((w, j) => ((held ? held.includes(j) : facts.motors[j]) ? 0 : w));
    const longest = joint.slides ? STEP_OF_JOINT * facts.size : STEP_OF_JOINT;
    const closed = (from, x) => {
      const guess = Float64Array.from(from);
      guess[joint.q] = x;
      const near = (found) => found && Math.max(...found.map((y, k) => (k === joint.q ? 0 : Math.abs(y - from[k])))) < 10 * longest + 0.5;
      const by = this.close(guess, still);
      const found = near(by) || held ? by : this.m ? this.close(guess, alone) : guess;
      return near(found) ? found : null;
    };
    let at = q, step = longest, said = goal === value ? "" : `${joint.label} ends at {${goal}}, its limit`;
    while (Math.abs(goal - at[joint.q]) > 1e-14) {
      const x = Math.abs(goal - at[joint.q]) <= step ? goal : at[joint.q] + Math.sign(goal - at[joint.q]) * step;
      const next = closed(at, x), out = next && this.beyond(next);
      if (next && !(out && !this.beyond(at))) { at = next; continue; }
      step *= 0.25;
      said = out ? `${joint.label} ends at {${at[joint.q]}}, where ${out.label} is at its limit` : `${joint.label} ends at {${at[joint.q]}}`;
      if (step < FINEST_END * longest) break;
    }
    return { q: at, said: step < longest || goal !== value ? said.replace(/\{[^}]*\}/, `{${at[joint.q]}}`) : "" };
  }

  // A point of a body in space, and how it moves with each freedom: rows x, y, z.
  pointRows(seen, body, point) {
    const { n, facts } = this;
    const x = body < 0 ? point : placed(seen.poses.subarray(7 * body, 7 * body + 7), point), rows = new Float64Array(3 * n);
    for (const [j, at, ratio] of facts.path[body]) {
      const w = seen.axes.subarray(6 * at, 6 * at + 3), u = seen.axes.subarray(6 * at + 3, 6 * at + 6), turn = cross(w, x);
      for (let c = 0; c < 3; c++) rows[c * n + j] += ratio * (u[c] + turn[c]);
    }
    return { x, rows };
  }

  // Pull a point of a body toward a target: least squares over the motions that loops and limits allow.
  drag(q, { body, point }, target) {
    const { n, m, facts } = this;
    const size = facts.size;
    let at = q, said = "";
    for (let pull = 0; pull < PULLS; pull++) {
      const { x, rows } = this.pointRows(this.look(at), body, point);
      let way = sub(target, x);
      const far = norm(way);
      if (far < 1e-4 * size) return { q: at, said: "" };
      if (far > 0.25 * size) way = scaled(way, (0.25 * size) / far);
      const here = m ? this.constraints(at) : null, held = new Set();
      let v = null;
      for (let round = 0; round < 5; round++) {
        v = this.pulled(rows, way, here, held);
        const out = v && facts.joints.filter((j) => j.simple && !held.has(j.v) && ((v[j.v] > 0 && at[j.q] + v[j.v] > j.upper) || (v[j.v] < 0 && at[j.q] + v[j.v] < j.lower)));
        if (!out || !out.length) break;
        const near = out.filter((j) => Math.min(Math.abs(j.upper - at[j.q]), Math.abs(at[j.q] - j.lower)) < 1e-6);
        if (!near.length) { const share = Math.min(...out.map((j) => ((v[j.v] > 0 ? j.upper : j.lower) - at[j.q]) / v[j.v])); v = v.map((y) => y * Math.max(share, 0)); break; }
        for (const j of near) { held.add(j.v); said = `${j.label} is at its limit, {${at[j.q]}}`; }
      }
      if (!v) return { q: at, said };
      v = this.shortened(v);
      let next = null;
      const weights = this.reach.map((w, j) => (held.has(j) ? 0 : w));
      for (let share = 1; share > 0.05 && !next; share *= 0.5) {
        const there = this.close(this.move(at, v.map((y) => y * share)), weights);
        if (there && !(this.beyond(there) && !this.beyond(at)) && norm(sub(target, this.pointAt(there, body, point))) < far * (1 - 1e-6)) next = there;
      }
      if (!next) {
        const own = facts.joints.find((j) => j.body === body && j.simple);
        return { q: at, said: said || (m && far > 0.03 * size && own && this.isAtEnd(at, own.v) ? `${own.label} ends at {${at[own.q]}}` : "") };
      }
      at = next;
      if (norm(sub(target, this.pointAt(at, body, point))) > 0.98 * far) break;
    }
    return { q: at, said };
  }

  // Whether the loops let a freedom move no further: of all motions that they allow, none moves it.
  isAtEnd(q, freedom) {
    const { k } = this.constraints(q), g = Float64Array.from({ length: this.m }, (_, a) => k[a * this.n + freedom]);
    return 1 + this.back({ k, g, size: 0 }, this.reach)[freedom] < ENDED;
  }

  // How many freedoms loops leave at a configuration, how many of these joints at their limits leave, and which these are.
  freedoms(q) {
    const { n, m, facts, reach } = this, stopped = facts.joints.filter((j) => j.simple && (q[j.q] <= j.lower + 1e-6 || q[j.q] >= j.upper - 1e-6));
    const rows = m ? Array.from({ length: m }, ((k) => (_, a) => k.slice(a * n, (a + 1) * n).map((x, j) => x * Math.sqrt(reach[j])))(this.constraints(q).k)) : [];
    const whole = n - rank(rows), held = stopped.map((j) => Float64Array.from({ length: n }, (_, i) => (i === j.v ? Math.sqrt(reach[i]) : 0)));
    return { whole, left: stopped.length ? n - rank([...rows, ...held]) : whole, stopped };
  }

  pointAt(q, body, point) { const { poses } = this.look(q); return placed(poses.subarray(7 * body, 7 * body + 7), point); }

  // The motion that brings a point nearest to its target while K v = -gaps.
  pulled(rows, way, here, held) {
    const { n, m, reach } = this, scale = 1 / this.facts.size ** 2;
    const h = new Float64Array(n * n), v = new Float64Array(n);
    for (let i = 0; i < n; i++) {
      if (held.has(i)) { h[i * n + i] = 1; continue; }
      for (let c = 0; c < 3; c++) {
        const own = rows[c * n + i] * scale;
        if (!own) continue;
        for (let j = 0; j <= i; j++) if (!held.has(j)) h[i * n + j] += own * rows[c * n + j];
        v[i] += own * way[c];
      }
      h[i * n + i] += STIFF * scale * 0.1 * this.facts.size ** 2 / reach[i];
    }
    if (!factor(h, n)) return null;
    solve(h, n, v);
    if (!here) return v;
    const columns = [], s = new Float64Array(m * m), x = new Float64Array(m);
    let trace = 0;
    for (let a = 0; a < m; a++) {
      const row = here.k.slice(a * n, (a + 1) * n);
      for (const j of held) row[j] = 0;
      columns.push(solve(h, n, row.slice()));
      x[a] = here.g[a];
      for (let j = 0; j < n; j++) x[a] += row[j] * v[j];
      for (let b = 0; b <= a; b++) { let sum = 0; for (let j = 0; j < n; j++) sum += row[j] * columns[b][j]; s[a * m + b] = sum; if (a === b) trace += sum; }
    }
    for (let a = 0; a < m; a++) s[a * m + a] += 1e-10 * trace + 1e-300;
    if (!factor(s, m)) return null;
    solve(s, m, x);
    for (let a = 0; a < m; a++) for (let j = 0; j < n; j++) v[j] -= columns[a][j] * x[a];
    return v;
  }

  // Velocities, accelerations, motor forces, energies and wrenches from the rates of the independent freedoms.
  told(out) {
    const { n } = this, count = this.bodies + this.facts.loops.length;
    return { v: out.subarray(0, n), a: out.subarray(n, 2 * n), tau: out.subarray(2 * n, 3 * n), kinetic: out[3 * n], potential: out[3 * n + 1], wrenches: out.subarray(3 * n + 2, 3 * n + 2 + 6 * count), quality: out[3 * n + 2 + 6 * count] };
  }

  motion(q, v, a) { return this.told(this.engine.call("motion", { q, v, a, p: this.p })); }
  motions(states) { return this.engine.many("motion", states.map((s) => ({ ...s, p: this.p }))).map((out) => this.told(out)); }
  state(t, q, v, z) { return this.told(this.engine.call("state", { t, q, v, z, p: this.p })); }

  // One turn of a joint at constant speed; where it cannot turn, to and fro between its ends. All other independent
  // freedoms stay where they are, since velocities and torques are those of this joint moving alone.
  turn(q, joint, speed, count) {
    const { independent } = this.facts, held = independent.includes(joint.v) ? independent : null;
    const go = (from, value) => this.moveJoint(from, joint, value, held);
    const zero = new Float64Array(this.n), states = [];
    const add = (at, rate, acceleration) => {
      const v = Float64Array.from(zero), a = Float64Array.from(zero);
      [v[joint.v], a[joint.v]] = [rate, acceleration];
      states.push({ q: at, v, a });
    };
    const start = q[joint.q];
    if (!joint.slides) {
      const whole = [q];
      for (let k = 1; k <= count; k++) {
        const next = go(whole[k - 1], start + (2 * Math.PI * k) / count);
        if (next.said) break;
        whole.push(next.q);
      }
      if (whole.length > count) {
        whole.forEach((at) => add(at, speed, 0));
        const period = (2 * Math.PI) / Math.abs(speed);
        return { states, period, low: start, high: start + 2 * Math.PI, whole: true };
      }
    }
    const range = joint.slides ? 0.5 * this.facts.size : Math.PI;
    const low = go(q, Math.max(start - range, joint.lower)).q, high = go(q, Math.min(low[joint.q] + 2 * range, joint.upper)).q;
    const middle = 0.5 * (low[joint.q] + high[joint.q]), reach = 0.49 * (high[joint.q] - low[joint.q]);
    const period = (2 * Math.PI) / Math.abs(speed), w = (2 * Math.PI) / period;
    let at = go(q, middle - reach).q;  // from the given pose: at an end, two branches meet
    for (let k = 0; k <= count; k++) {
      const angle = (2 * Math.PI * k) / count;
      at = go(at, middle - reach * Math.cos(angle)).q;
      add(at, reach * w * Math.sin(angle), reach * w * w * Math.cos(angle));
    }
    return { states, period, low: middle - reach, high: middle + reach, whole: false };
  }

  // The longest step with which energy stays balanced from a state on, as far as can be tried in a moment.
  goodStep(state) {
    const { nq, nv, nz, works } = this.facts, until = performance.now() + TRYING;
    const total = (s, t) => { const told = this.state(t, s.slice(0, nq), s.slice(nq, nq + nv), s.slice(nq + nv, nq + nv + nz)); return [told.kinetic, told.kinetic + told.potential - s.slice(nq + nv + nz - works.length, nq + nv + nz).reduce((a, b) => a + b, 0)]; };
    return STEPS.find((h) => {
      let [at, most, off] = [state, 0, 0];
      const [, first] = total(state, 0);
      for (let t = 0, k = 0; k < 20; k++, t += 10 * h * Math.ceil(0.005 / h)) {
        at = this.steps(t, at, h, 10 * Math.ceil(0.005 / h));
        if (!at && k < 3) return false;
        if (!at) break;  // a dead point, where any step ends
        const [kinetic, now] = total(at, t);
        [most, off] = [Math.max(most, kinetic), Math.max(off, Math.abs(now - first))];
        if (performance.now() > until) break;
      }
      return off <= BALANCED * most || performance.now() > until;
    }) || STEPS[STEPS.length - 1];
  }

  // Many steps of a simulation; null where it cannot go on.
  steps(t, state, h, n) {
    const out = this.engine.call("steps", { t, h, n, state, parameters: this.p });
    const good = !this.m || out[out.length - 1] >= 1;
    return good && Number.isFinite(out[0] + out[this.facts.nq]) ? out.slice() : null;
  }
}
