// Talking to the studio's server, and elements that several scripts of the desk make.

const BUSY_AFTER = 300;  // milliseconds after which the page says that it waits
const TOKEN = new URLSearchParams(location.search).get("token") || "";

// Code of laws that this page has, by the names that the server gave it.
const LAWS = new Map();

async function keepLaws(name, text) {
  const { code, functions } = await unpacked(text);
  LAWS.set(name, { code: await WebAssembly.compile(code), functions });
}

async function ask(what, more = {}) {
  const waits = setTimeout(() => document.body.classList.add("busy"), BUSY_AFTER);
  try { return await answered(what, more); } finally { clearTimeout(waits); document.body.classList.remove("busy"); }
}

async function answered(what, more) {
  let told;
  try {
    const answer = await fetch("/do", { method: "POST", headers: { "Content-Type": "application/json", "X-Kinetree-Token": TOKEN }, body: JSON.stringify({ do: what, laws: [...LAWS.keys()], ...more }) });
    told = await answer.json();
  } catch { throw new Error("The studio does not answer: is it still running in the terminal?"); }
  if (told.message) throw new Error(told.message);
  return told;
}

function button(text, act, more = {}) {
  const made = element("button", { type: "button", textContent: text, ...more });
  made.onclick = act;
  return made;
}

const choice = (label, options, chosen, act) => {
  const made = element("select", { ariaLabel: label }, ...options.map(([value, text]) => element("option", { value, textContent: text === undefined ? value : text, selected: value === chosen })));
  if (act) made.onchange = () => act(made.value);
  return made;
};

function saveText(name, text, type = "text/plain") {
  const url = URL.createObjectURL(new Blob([text], { type }));
  element("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

// A window over the page, with a heading; it is closed by its button, Escape, or a press beside it.
function openDialog(title, ...children) {
  const dialog = element("dialog", {});
  const close = button("×", () => dialog.close(), { className: "plain", title: "Close", ariaLabel: "Close" });
  dialog.append(element("div", { className: "head" }, element("h2", { textContent: title }), close), ...children);
  dialog.onclose = () => dialog.remove();
  dialog.onclick = (e) => { if (e.target === dialog) dialog.close(); };
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

const drawn = (tag, properties = {}, ...children) => {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [key, value] of Object.entries(properties)) if (key === "text") made.textContent = value; else made.setAttribute(key, value);
  made.append(...children.filter(Boolean));
  return made;
};
