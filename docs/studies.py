"""Write the pages and pictures of the studies: ``make pictures``, or ``python docs/studies.py [NAME ...]``.

Every study is run in its quick form; its page gets what it teaches, what was assumed, and its facts, stated
beside measured.  Pages and pictures are committed, so that building the documentation runs nothing.
``tests/docs/test_docs_studies.py`` compares the pages with the studies.
"""

from __future__ import annotations

import io
import os
import sys
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    from kinetree.gallery import Fact, Result, Study

DOCS = Path(__file__).resolve().parent
PAGES, PICTURES, THUMBNAILS = DOCS / "studies", DOCS / "images" / "studies", DOCS / "images" / "thumbnails"
LARGEST = 100_000
"""Bytes of a picture."""

HEADINGS = "| statement | by | stated | measured | |\n|---|---|---|---|---|"

GROUPS: dict[str, dict[str, str]] = yaml.safe_load((DOCS / "studies.yaml").read_text(encoding="utf-8"))
"""What each study teaches, by kind."""


def main(names: list[str]) -> None:
    """Write the pages of some studies, or of all, and the list of all."""
    import kinetree as kt

    for name in names or kt.gallery.studies():
        print(name, flush=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = kt.gallery.study(name).run(quick=True)
        pictures = {kind: save(draw, name, kind) for kind, draw in chosen(result)}
        write(PAGES / f"{name}.md", page(result, pictures))
    write(PAGES / "index.md", contents([kt.gallery.study(name) for name in kt.gallery.studies()]))


def write(file: Path, text: str | bytes) -> None:
    """A file, wholly or not at all."""
    file.parent.mkdir(parents=True, exist_ok=True)
    beside = file.with_name(f".{file.name}.new")
    beside.write_bytes(text.encode() if isinstance(text, str) else text)
    os.replace(beside, file)


# ------------------------------------------------------------------ text


def page(result: Result, pictures: Iterable[str]) -> str:
    """A study's page."""
    study = result.study
    pictures = list(pictures)
    lines = [f"# {title(study)}", "", lesson(study.name), "", f"*Source: {study.source}.*", ""]
    lines += [picture_line(study, kind) for kind in pictures[:1]]
    lines += ["```sh", f"kinetree run {study.name}     # tables, plots, data and the model, in a folder"]
    lines += ([f"kinetree view {study.name}"] if study.system else []) + ["```", ""]
    lines += change_it(study)
    if study.assumptions:
        lines += ["## What was assumed", "", *(f"* {escaped(text)}" for text in study.assumptions), ""]
    lines += [picture_line(study, kind) for kind in pictures[1:]]
    lines += ["## Facts", "", verdicts(result), ""]
    for name, outcome in result.outcomes.items():
        if outcome.facts or outcome.remarks:
            lines += [f"### {heading(name)}", ""]
            lines += [text for remark in outcome.remarks for text in (escaped(remark), "")]
        if outcome.facts:
            lines += [HEADINGS, *(row(fact) for fact in outcome.facts), ""]
    return "\n".join(lines).rstrip() + "\n"


def change_it(study: Study) -> list[str]:
    """How to change a walk, with a study file or in Python; nothing for other studies."""
    from kinetree_gallery.systems.walking_machine import WALKERS, walker

    if not study.system or study.name not in WALKERS:
        return []
    machine = walker(study.name)
    gait, trunk = machine.walk.gait, machine.robot.body_names[0]
    stride = round(0.75 * gait.stride, 3)
    mass = round(1.25 * machine.robot.model.bodies[0].mass, 1)
    return [
        "## Change it", "",
        "Another stride and another mass, in a file of your own: `kinetree run walk.yaml`. `period`, `height`, `foot_height` and `side` "
        "are keys, too, and `duration`: it walks that long, by default as long as the simulation.", "",
        "```yaml", "kinetree-study: 1", f"robot: {{name: {study.name}, parameters: {{bodies.{trunk}.mass: {mass:g}}}}}",
        f"motion: {{kind: gallery, stride: {stride:g}}}", "controller: computed-torque",
        f"simulation: {{time: {2 * gait.period:g}, integrator: bdf, rtol: 1e-6, atol: 1e-8}}", "```", "",
        "`summary.md` says whether it falls. In Python:", "",
        "```python", "import kinetree as kt", "",
        f'machine = kt.gallery.walk("{study.name}", stride={stride:g})', "print(machine)", "```", "",
        "[`kt.gallery.walk`](../api/gallery-and-viewer.md) has the rest of the simulation as an example.", "",
    ]  # fmt: skip


def lesson(name: str) -> str:
    """What a study teaches."""
    return next((lessons[name] for lessons in GROUPS.values() if name in lessons), "")


def title(study: Study) -> str:
    """As a heading."""
    return study.title[:1].upper() + study.title[1:]


def heading(analysis: str) -> str:
    """Of an analysis."""
    return analysis[:1].upper() + analysis[1:].replace("-", " ")


def picture_line(study: Study, kind: str) -> str:
    """An image, with a blank line below."""
    return f"![{heading(kind)} of the study {study.name}](../images/studies/{study.name}-{kind}.png)\n"


def verdicts(result: Result) -> str:
    """How many facts hold."""
    text = f"{sum(bool(f.holds) for f in result.facts)} of {len(result.facts)} statements hold"
    if result.exceptions:
        many = len(result.exceptions)
        text += f"; {many} {'does' if many == 1 else 'do'} not, for reasons given with them"
    return f'{text}. "Ours" is what must be true whatever the source says. Measured in a quick run.'


def row(fact: Fact) -> str:
    """A fact as a row of the table."""
    reason = f"<br>*{escaped(fact.reason)}*" if fact.reason else ""
    verdict = "holds" if fact.holds else "**does not hold**"
    return f"| {escaped(fact.text)}{reason} {stated(fact)} {escaped(fact.shown('measured'))} | {verdict} |"


def stated(fact: Fact) -> str:
    """Who states what: the middle of a row."""
    return f"| {escaped(fact.source)} | {escaped(fact.shown('stated'))} |"


def escaped(text: str) -> str:
    """Plain text for Markdown: nothing in it is markup."""
    for sign in ("\\", "|", "*", "_", "<", "$", "["):
        text = text.replace(sign, {"<": "&lt;"}.get(sign, f"\\{sign}"))
    return " ".join(text.split())


def contents(studies: list[Study]) -> str:
    """All studies by kind, as a gallery of thumbnails."""
    lines = ["---", "hide: [toc]", "---", "", "# Studies", ""]
    lines += ["Every system of the sources, and some more, runs by name: `kinetree run NAME`, or"]
    lines += ["`kt.gallery.study(NAME).run()`. A study computes what its source computes and puts what the source"]
    lines += ["states beside what came out; where the two differ, the page says why.", ""]
    for group, members in grouped(studies):
        lines += [f"## {group}", "", '<div class="grid cards studies" markdown>', ""]
        lines += [card(study) for study in members]
        lines += ["</div>", ""]
    return "\n".join(lines).rstrip() + "\n"


def card(study: Study) -> str:
    """A thumbnail with the name, what it is and where it is from."""
    picture = thumbnail(study.name)
    shown = f"[![{study.name}]({picture}){{ loading=lazy }}]({study.name}.md)\n\n    " if picture else ""
    return (
        f"-   {shown}**[{study.name}]({study.name}.md)**<br>{escaped(title(study))}\n\n    *{escaped(study.source)}*\n"
    )


def thumbnail(name: str) -> str:
    """The system as the viewer shows it (docs/thumbnails.py), or the study's first picture."""
    kinds = ("system", "mechanism", "squat", "energy", "operations", "torques")
    found = [f"../images/{THUMBNAILS.name}/{name}.webp", *(f"../images/studies/{name}-{kind}.png" for kind in kinds)]
    return next((picture for picture in found if (PAGES / picture).is_file()), "")


def grouped(studies: list[Study]) -> Iterator[tuple[str, list[Study]]]:
    """Studies by group, in the groups' order."""
    by_name = {study.name: study for study in studies}
    for group, names in GROUPS.items():
        yield group, [by_name.pop(name) for name in names if name in by_name]
    if by_name:
        yield "Others", list(by_name.values())


# ------------------------------------------------------------------ pictures


def chosen(result: Result) -> list[tuple[str, Any]]:
    """The system itself and one result, or as much of that as there is."""
    figures = [item for outcome in result.outcomes.values() for item in outcome.figures.items()]
    systems = [item for item in figures if item[0] in ("mechanism", "system")][:1]
    own, usual = ("clamping", "shaking", "designed"), ("torques", "operations", "energy")
    results = [item for kinds in (own, usual) for item in figures if item[0] in kinds][:1]
    return dict([*systems, *results] or figures[:1]).items()  # type: ignore[return-value]


def save(draw: Any, name: str, kind: str) -> Path:
    """Draw a figure, smaller until the file is small enough."""
    import matplotlib
    from matplotlib.figure import Figure

    from kinetree.io.plot_style import RC

    file = PICTURES / f"{name}-{kind}.png"
    for dpi in (90, 75, 60, 45):
        with matplotlib.rc_context({**RC, "savefig.dpi": dpi, "figure.dpi": dpi}):
            figure = Figure(layout="constrained")
            draw(figure)
            stream = io.BytesIO()
            figure.savefig(stream, format="png", dpi=dpi)
        if len(stream.getvalue()) < LARGEST:
            break
    write(file, stream.getvalue())
    return file


if __name__ == "__main__":
    main(sys.argv[1:])
