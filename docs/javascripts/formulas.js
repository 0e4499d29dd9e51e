// Typeset what arithmatex has marked as mathematics, by the KaTeX that is part of this site; pages without formulas fetch nothing.
const formulas = document.querySelectorAll(".arithmatex");
if (formulas.length) {
  const folder = new URL("../katex/", document.currentScript.src);
  const style = Object.assign(document.createElement("link"), { rel: "stylesheet", href: new URL("katex.min.css", folder) });
  const script = Object.assign(document.createElement("script"), { src: new URL("katex.min.js", folder) });
  script.onload = () => {
    for (const place of formulas) {
      const [, open, tex] = place.textContent.trim().match(/^\\([([])([\s\S]*)\\[)\]]$/);
      katex.render(tex.trim(), place, { displayMode: open === "[", throwOnError: false });
    }
  };
  script.onerror = () => { // built without KaTeX: the formulas as they are written
    for (const place of formulas) {
      place.textContent = place.textContent.trim().slice(2, -2).trim();
      place.classList.add("as-tex");
    }
  };
  document.head.append(style, script);
}
