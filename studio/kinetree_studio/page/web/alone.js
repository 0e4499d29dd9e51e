// A page on its own: it computes with what Python put into it.

unpacked(document.getElementById("data").textContent.trim())
  .then(async (show) => {
    const engine = await Engine.of(show.compute.code, show.compute.functions);
    kinetree.app = new LivePage(show, engine);
    kinetree.app.redraw();
  })
  .catch((problem) => {
    kinetree.problem = String(problem.stack || problem.message || problem);
    document.getElementById("notice").textContent = String(problem.message || problem);
  });
