// The first page: something new, the gallery, files of the folder, and dropped files.

const PLANAR_ARM = `kinetree: 1
name: two-link arm
gravity: [0, -9.81, 0]
base: ground
table:
  convention: CONVENTION
  degrees: true
  rows:
    - {ROW1, mass: 1, com: [COM, 0, 0], inertia: [0.001, 0.0833, 0.0833]}
    - {ROW2, mass: 1, com: [COM, 0, 0], inertia: [0.001, 0.0833, 0.0833]}
`;
const TABLES = {
  "Craig (modified)": PLANAR_ARM.replace("CONVENTION", "modified").replace("ROW1", "a: 0, alpha: 0, d: 0, theta: 0").replace("ROW2", "a: 1, alpha: 0, d: 0, theta: 0").replaceAll("COM", "0.5"),
  "Denavit-Hartenberg (standard)": PLANAR_ARM.replace("CONVENTION", "standard").replace("ROW1", "a: 1, alpha: 0, d: 0, theta: 0").replace("ROW2", "a: 1, alpha: 0, d: 0, theta: 0").replaceAll("COM", "-0.5"),
};

class StartPage {
  constructor(node, desk) {
    Object.assign(this, { node, desk });
    this.search = element("input", { type: "search", placeholder: "Search the gallery", ariaLabel: "Search the gallery" });
    this.search.oninput = () => this.list();
    this.groups = element("div", { className: "groups" });
    this.problem = element("p", { className: "problem", role: "alert" });
    const pick = element("input", { type: "file", multiple: true, hidden: true });
    pick.onchange = () => this.take([...pick.files].map((file) => [file.name, file]));
    this.drop = element("div", { className: "drop" }, element("p", { textContent: "Drop a robot here: YAML, URDF, MJCF or SDF with its meshes, or a folder of ReDySim, zipped or as files." }), button("Choose files", () => pick.click()), pick);
    const made = (title, text, act) => { const card = button("", act, { className: "card new" }); card.append(element("b", { textContent: title }), element("span", { textContent: text })); return card; };
    const own = [
      made("Linkage by points", "Click pins and bars in a plane, add a motor, and it runs", () => desk.draw()),
      ...Object.keys(TABLES).map((name) => made(`DH table: ${name}`, "An arm from rows of a table; frames follow the numbers", () => desk.open({ text: TABLES[name] }))),
      made("Blank space", "Begin with one body on a hinge, and add others", () => desk.open({ blank: true })),
    ];
    this.files = element("div", { className: "files" });
    node.append(element("div", { className: "sheet" }, element("h1", { textContent: "kinetree studio" }), this.problem,
      element("h2", { textContent: "New" }), element("div", { className: "cards-list" }, ...own),
      element("h2", { textContent: "Your files" }), this.files, this.drop,
      element("h2", { textContent: "Lessons" }), this.lessons = element("div", { className: "files" }),
      element("div", { className: "head" }, element("h2", { textContent: "Gallery" }), this.search), this.groups));
    addEventListener("dragover", (e) => { if (!node.hidden) e.preventDefault(); });
    addEventListener("drop", (e) => { if (!node.hidden) { e.preventDefault(); this.dropped(e.dataTransfer); } });
    this.watch = new IntersectionObserver((seen) => seen.forEach((s) => { if (s.isIntersecting) { this.watch.unobserve(s.target); this.picture(s.target); } }));
  }

  show({ cards, files, folder, lessons }) {
    this.lessons.replaceChildren(...lessons.map(({ name, title, problem }) => button(problem ? `⚠ ${title}` : title, () => this.desk.open({ name }, "lesson"), { className: "file", title: problem })));
    this.cards = cards.map((card) => {
      const made = button("", () => this.desk.open({ system: card.name }), { className: "card" });
      made.dataset.name = card.name;
      made.append(element("span", { className: "picture" }), element("b", { textContent: card.name }), element("span", { textContent: card.title }));
      this.watch.observe(made);
      return { ...card, made, words: `${card.name} ${card.title} ${card.group}`.toLowerCase() };
    });
    this.files.replaceChildren(...(files.length ? files.map((name) => button(name, () => this.desk.open({ file: name }), { className: "file" })) : [element("p", { className: "hint", textContent: `No robot files in ${folder}` })]));
    this.list();
  }

  list() {
    const words = this.search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = this.cards.filter((card) => words.every((word) => card.words.includes(word)));
    const groups = [...new Set(found.map((card) => card.group))];
    this.groups.replaceChildren(...groups.flatMap((group) => [element("h3", { textContent: group }), element("div", { className: "cards-list" }, ...found.filter((card) => card.group === group).map((card) => card.made))]));
    if (!found.length) this.groups.append(element("p", { className: "hint", textContent: "Nothing of that name." }));
  }

  // Draw a system as lines; one after the other, so that opening one does not wait for all.
  picture(card) {
    this.queue = (this.queue || Promise.resolve()).then(async () => {
      if (this.node.hidden) { this.watch.observe(card); return; }
      const { lines, spots } = await ask("picture", { name: card.dataset.name }).catch(() => ({ lines: [], spots: [] }));
      const at = (x) => 4 + 72 * x;
      card.querySelector(".picture").replaceChildren(drawn("svg", { viewBox: "0 0 80 80" }, ...lines.map(([x, y, u, v]) => drawn("line", { x1: at(x), y1: at(1 - y), x2: at(u), y2: at(1 - v) })), ...spots.map(([x, y]) => drawn("circle", { cx: at(x), cy: at(1 - y), r: 2.2 }))));
    });
  }

  async dropped(data) {
    const entries = [...data.items].map((item) => item.webkitGetAsEntry && item.webkitGetAsEntry()).filter(Boolean), found = [];
    const walk = async (entry, path) => {
      if (entry.isFile) found.push([path + entry.name, await new Promise((done, fail) => entry.file(done, fail))]);
      else {
        const reader = entry.createReader();
        for (let some; (some = await new Promise((done, fail) => reader.readEntries(done, fail))).length;) for (const own of some) await walk(own, `${path}${entry.name}/`);
      }
    };
    for (const entry of entries) await walk(entry, "");
    this.take(found.length ? found : [...data.files].map((file) => [file.name, file]));
  }

  async take(files) {
    const contents = {};
    for (const [name, file] of files) {
      const bytes = new Uint8Array(await file.arrayBuffer());
      let text = "";
      for (let k = 0; k < bytes.length; k += 32768) text += String.fromCharCode(...bytes.subarray(k, k + 32768));
      contents[name] = btoa(text);
    }
    this.desk.open({ dropped: contents });
  }
}
