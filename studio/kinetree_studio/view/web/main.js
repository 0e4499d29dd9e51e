// The page: a clock, a scene, controls; and, where Python serves it, what goes to and fro.

const PANEL_RATE = 12;  // how often a second curves and sliders follow while playing: pictures come first

class Clock {
  constructor(begin, end) { Object.assign(this, { begin, end, time: begin, playing: false, speed: 1, repeat: true, moves: end > begin }); }
  seek(time) { this.time = Math.min(Math.max(time, this.begin), this.end); }
  play(playing) {
    this.playing = playing && this.moves;
    if (this.playing && this.speed > 0 && this.time >= this.end) this.time = this.begin;
    if (this.playing && this.speed < 0 && this.time <= this.begin) this.time = this.end;
  }
  advance(seconds) {
    const span = this.end - this.begin;
    const time = this.time + this.speed * seconds;
    if (time >= this.begin && time <= this.end) this.time = time;
    else if (this.repeat) this.time = this.begin + ((((time - this.begin) % span) + span) % span);
    else { this.seek(time); this.playing = false; }
  }
}

// Talks to the server, where there is one: what is done here, and what was done elsewhere.
class Link {
  constructor(app) {
    this.page = Math.random().toString(36).slice(2);
    this.app = app;
    this.waiting = null;
    this.busy = false;
    const events = new EventSource(`events?page=${this.page}`);
    events.onmessage = (e) => app.told(JSON.parse(e.data));
    events.onerror = () => app.say("The viewer was closed: what is shown stays, but joints cannot be moved any more.");
    events.onopen = () => app.say("");
  }

  // Tell the server the newest of what happens quickly, one at a time, so that sliders stay light.
  async tell(message) {
    this.waiting = { ...this.waiting, ...message };
    if (this.busy) return;
    this.busy = true;
    try {
      while (this.waiting) {
        const sent = JSON.stringify({ page: this.page, ...this.waiting });
        this.waiting = null;
        const answer = await fetch("do", { method: "POST", body: sent, headers: { "Content-Type": "application/json" } });
        const said = await answer.json();
        if (!this.waiting) this.app.told(said);
      }
    } catch { this.waiting = null; }
    this.busy = false;
  }
}

class App {
  constructor(show) {
    this.show = show;
    this.still = new URLSearchParams(location.search).has("still");  // draws only when asked, for pictures and films
    const canvas = document.getElementById("scene");
    this.clock = new Clock(show.begin, show.end);
    this.clock.speed = show.speed;
    this.scene = new Scene(canvas, show);
    this.orbit = new Orbit(canvas, show, () => this.redraw());
    this.bar = new Bar(document.getElementById("bar"), this);
    this.panel = new Panel(document.getElementById("panel"), this);
    this.link = show.live ? new Link(this) : null;
    this.rest = show.rest;  // what the pose is like at rest, where it is of no moment of the motion
    this.paneled = 0;
    this.drawn = false;
    new ResizeObserver(() => this.redraw()).observe(document.getElementById("stage"));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.redraw());
    addEventListener("keydown", (e) => this.key(e));
    if (show.playing && !show.live) this.clock.play(true);
  }

  say(text) { document.getElementById("notice").textContent = text; }

  redraw() {
    if (this.asked || this.still) return;
    this.asked = true;
    requestAnimationFrame((now) => { this.asked = false; this.frame(now); });
  }

  frame(now) {
    if (this.clock.playing && !this.still) {
      if (this.before !== undefined) this.clock.advance(Math.min((now - this.before) / 1000, 0.5));
      this.before = now;
      this.redraw();
    } else this.before = undefined;
    const canvas = this.scene.canvas;
    const ratio = Math.min(window.devicePixelRatio || 1, 2);
    this.picture(Math.max(1, Math.round(canvas.clientWidth * ratio)), Math.max(1, Math.round(canvas.clientHeight * ratio)), ratio);
    if (!this.clock.playing || now - this.paneled > 1000 / PANEL_RATE) { this.paneled = now; this.panel.update(); }
    this.bar.update();
    this.drawn = true;
  }

  picture(width, height, ratio) {
    this.scene.time = this.clock.time;
    this.scene.draw(width, height, ratio, this.orbit, palette());
  }

  // ---------------------------------------------------------------- what the user does

  // Show a pose that is of no moment of the motion, or with null the motion again.
  hold(poses, rest) { this.scene.hold(poses); this.rest = poses === null ? this.show.rest : rest; }
  play(playing) { this.hold(null); this.clock.play(playing); this.tell({ playing: this.clock.playing, time: this.clock.time }); this.redraw(); }
  seek(time) { this.hold(null); this.clock.playing = false; this.clock.seek(time); this.tell({ playing: false, time: this.clock.time }); this.redraw(); }
  speed(speed) { this.clock.speed = speed; this.tell({ speed }); this.redraw(); }
  repeat(repeat) { this.clock.repeat = repeat; this.tell({ repeat }); this.redraw(); }
  setShown(name, visible) { this.show.shown[name] = visible; this.tell({ shown: { [name]: visible } }); this.redraw(); }
  setTrails(names) { this.show.trails = names; this.tell({ trails: names }); this.redraw(); }
  move(joint, values) { this.clock.playing = false; this.tell({ move: { joint, values } }); }
  reset() { this.tell({ reset: true }); if (this.clock.moves) this.seek(this.clock.begin); }
  tell(message) { if (this.link) this.link.tell(message); }

  key(e) {
    if (["INPUT", "SELECT", "BUTTON"].includes(e.target.tagName)) return;
    const step = (this.clock.end - this.clock.begin) / 100;
    if (e.key === " ") { e.preventDefault(); this.play(!this.clock.playing); }
    else if (e.key === "ArrowRight") this.seek(this.clock.time + step);
    else if (e.key === "ArrowLeft") this.seek(this.clock.time - step);
    else if (e.key === "Home") this.seek(this.clock.begin);
    else if (e.key === "f" && "follow" in this.show.shown) this.setShown("follow", !this.show.shown.follow);
  }

  // ---------------------------------------------------------------- what the server says

  told(news) {
    if ("speed" in news) this.clock.speed = news.speed;
    if ("repeat" in news) this.clock.repeat = news.repeat;
    if ("time" in news) { this.hold(null); this.clock.seek(news.time); }
    if ("playing" in news) this.clock.play(news.playing);
    if ("shown" in news) Object.assign(this.show.shown, news.shown);
    if ("trails" in news) this.show.trails = news.trails;
    if ("poses" in news) { this.clock.playing = false; this.hold(news.poses, news.rest); this.panel.setSliders(news.values.map((x) => (x === null ? NaN : x))); }
    if ("message" in news) this.say(news.message);
    this.redraw();
  }
}

// What Python calls to draw pictures.
const kinetree = {
  app: null,
  problem: "",
  // A picture of the scene alone, as a data URL.
  picture(width, height, time, type) {
    const { app } = kinetree;
    if (time !== null) { app.clock.playing = false; app.clock.seek(time); }
    app.picture(width, height, Math.max(1, Math.min(width, height) / 800));
    return app.scene.canvas.toDataURL(type, 0.93);
  },
  // Draw the page as it is now laid out, without waiting for the next frame.
  settle() { kinetree.app.frame(performance.now()); return true; },
};
window.kinetree = kinetree;

unpacked(document.getElementById("data").textContent.trim())
  .then((show) => { kinetree.app = new App(show); kinetree.app.redraw(); })
  .catch((problem) => {
    kinetree.problem = String(problem.message || problem);
    document.getElementById("notice").textContent = kinetree.problem;
  });
