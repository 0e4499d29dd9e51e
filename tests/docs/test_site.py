"""The site: it renders offline, generated pages say what they are made from, notebooks run."""

import ast
import importlib
import inspect
import json
import re
import sys
from pathlib import Path

import pytest

import kinetree as kt
from kinetree.robot import names_elsewhere
from kinetree.studies.sources import SOURCES

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
sys.path.insert(0, str(DOCS))
import charts  # noqa: E402
import formulas  # noqa: E402
import hooks  # noqa: E402
import internals  # noqa: E402
import names_table  # noqa: E402
import notebooks  # noqa: E402
import roles  # noqa: E402
import site_checks  # noqa: E402

PAGES = sorted(DOCS.glob("**/*.md"))
FORMULA = re.compile(r"\$\$(.+?)\$\$|(?<!\\)\$(?!\s)([^$\n]+?)(?<!\s)\$", re.DOTALL)


# ------------------------------------------------------------------ offline


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.html", '<script src="https://cdn.example.org/x.js"></script>', "asks https://cdn.example.org"),
        ("a.html", '<link rel="stylesheet" href="//fonts.example.org/css">', "asks //fonts.example.org"),
        ("a.html", "<img alt=x src=http://example.org/x.png>", "asks http://example.org"),
        ("a.html", '<source srcset="https://example.org/x.webp">', "asks https://example.org"),
        ("a.html", '<pre class="mermaid">', "mermaid"),
        ("a.html", "<p>see :meth:<code>close</code></p>", "role :meth:"),
        ("a.html", "<td>[<code>f</code>][kinetree.f]</td>", "links to kinetree.f"),
        ("a.html", "<p>{{ chart speed }}</p>", "left"),
        ("a.css", '@import "https://example.org/x.css";', "asks https://example.org"),
        ("a.css", "body { background: url(//example.org/x.png) }", "asks //example.org"),
        ("a.js", 'fetch("https://example.org/x.json")', "asks https://example.org"),
    ],
)
def test_what_the_build_refuses(name, text, said):
    assert said in " ".join(site_checks.problems(Path(name), text))


def test_what_the_build_lets_pass():
    fine = '<a href="https://example.org">x</a><link rel="canonical" href="https://example.org/"><img src="../x.png">'
    assert list(site_checks.problems(Path("a.html"), fine)) == []
    assert list(site_checks.problems(Path("a.css"), "b { background: url(data:image/png;base64,x) }")) == []


def test_a_site_with_a_mistake_ends_the_build(tmp_path):
    (tmp_path / "page").mkdir()
    (tmp_path / "page" / "index.html").write_text('<img src="https://example.org/x.png">')
    with pytest.raises(ValueError, match=r"page.index\.html asks https://example\.org"):
        site_checks.check(tmp_path)


def test_formulas_are_typeset_by_what_npm_installs():
    """Every command of every formula is known to the KaTeX of the lock file, whose fonts are there, too."""
    try:
        package = formulas.installed()
    except formulas.Unavailable as why:
        pytest.skip(f"no KaTeX: {why}")
    known = (package / "dist" / "katex.min.js").read_text(encoding="utf-8")
    fonts = set(re.findall(r"url\(([^)]+)\)", formulas.style(package)))
    assert fonts
    assert all(font.endswith(".woff2") for font in fonts)
    assert {font for font in fonts if not (package / "dist" / font).is_file()} == set()
    assert "MIT" in (package / "LICENSE").read_text(encoding="utf-8")
    count = 0
    for page in PAGES:
        text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        for found in FORMULA.finditer(text):
            count += 1
            formula = found[1] or found[2]
            for command in set(re.findall(r"\\([A-Za-z]+)", formula)) - {"begin", "end"}:
                assert f"\\\\{command}" in known, (page.name, command)
            for name in re.findall(r"\\begin\{(\w+)\}", formula):
                assert f'"{name}"' in known, (page.name, name)
    assert count > 150


def test_the_film_is_small():
    film = (DOCS / "images" / "walking.webp").read_bytes()
    assert film[:4] == b"RIFF"
    assert b"ANIM" in film[:64]
    assert len(film) < 1_000_000


# ------------------------------------------------------------------ generated pages


@pytest.mark.parametrize(("page", "tables"), [("coverage.md", 5), ("names.md", 1), ("file-formats.md", 1)])
def test_the_site_has_tables_where_the_repository_says_so(page, tables):
    """Who reads these pages in the repository finds a sentence there, not a template."""
    text = (DOCS / page).read_text(encoding="utf-8")
    assert text.count("The site shows a table here") == tables
    assert "{{" not in text
    built = hooks.on_page_markdown(text)
    assert "The site shows a table here" not in built
    assert built.count("<!--") == text.count("<!--") - tables
    assert built.count("\n|---|") >= tables + text.count("\n|---|")


def test_every_name_from_elsewhere_is_in_the_index():
    table = names_table.table()
    lists = (
        names_elsewhere.tables()["METHODS"],
        names_elsewhere.tables()["FUNCTIONS"],
        names_elsewhere.tables()["INTEGRATORS"],
    )
    assert len(table.splitlines()) == 2 + len({key for names in lists for key in names})
    for key, call in names_elsewhere.tables()["METHODS"].items():
        name = call.partition("(")[0].removeprefix("kinetree.")
        assert f">robot.{name}" in table or f">kt.{name}" in table, key


def test_the_index_names_what_exists():
    for owner, name in set(re.findall(r'identifier="kinetree\.(\w+)\.(\w+)"', names_table.table())):
        holds = kt.Mechanism if owner == "Robot" else getattr(kt, owner)  # some are those of robots with loops alone
        assert hasattr(holds, name), (owner, name)


def test_charts_show_what_was_measured():
    for name, chart in charts.CHARTS.items():
        drawn = charts.svg(name)
        rows = charts.numbers(chart)
        assert len(rows) == 4
        assert drawn.count('class="value"') == sum(len(values) for _, values in rows)
        for robot, values in rows:
            assert f">{robot}</text>" in drawn
            assert all(f">{charts.shown(value)}" in drawn for value in values)
        slow = max(values[-1] for _, values in rows)
        widths = [float(w) for w in re.findall(r'class="bar-\w+" x="122" y="\d+" width="([\d.]+)" height="13"', drawn)]
        assert max(widths) == widths[[v for _, values in rows for v in values].index(slow)]


def test_numbers_of_the_home_page_are_those_of_the_benchmark():
    page = hooks.on_page_markdown((DOCS / "index.md").read_text(encoding="utf-8"))
    assert "{{" not in page
    table = json.loads(charts.FILE.read_text(encoding="utf-8"))["parts"]["batch"][0]
    ours, theirs = (float(x.replace(",", "")) for x in table["rows"][0][1:3])
    assert f"**{ours:.2g} ns**" in page
    assert f"{theirs / ours:.2g} times as fast" in page
    row = rf"^\|.* \| (?:{'|'.join(SOURCES)})[^|]* \|[^|]*\|[^|]*\| (?:holds|\*\*does not hold\*\*) \|$"
    facts = re.findall(row, all_studies(), re.M)
    assert f"**{len(facts)} statements**" in page


def test_without_npm_the_pages_are_built_all_the_same(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(formulas.Unavailable, match="npm, which comes with Node"):
        formulas.installed(tmp_path / "katex")

    def unavailable(config):
        raise formulas.Unavailable("npm is not installed")

    monkeypatch.setattr(formulas, "files", unavailable)
    hooks.add_formulas([], None)
    assert capsys.readouterr().err == "docs: npm is not installed. The pages show formulas as TeX.\n"


def test_npm_that_fails_says_why(tmp_path, monkeypatch):
    npm = tmp_path / "npm"
    npm.write_text("#!/bin/sh\necho 'npm error code ENOTFOUND' >&2\nexit 1\n")
    npm.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    with pytest.raises(formulas.Unavailable, match="npm ci failed: npm error code ENOTFOUND"):
        formulas.installed(tmp_path / "katex")
    assert [path.name for path in tmp_path.iterdir()] == ["npm"]


def all_studies():
    return "\n".join(page.read_text(encoding="utf-8") for page in (DOCS / "studies").glob("*.md"))


def test_a_chart_that_is_not_there_ends_the_build():
    with pytest.raises(LookupError, match="no chart 'nothing'"):
        hooks.on_page_markdown("{{ chart nothing }}")


def test_roles_become_links():
    import griffe

    text = "See :meth:`pose`, :class:`~kinetree.Robot` and :data:`nowhere`."
    with griffe.temporary_visited_package(
        "kinetree", {"__init__.py": "class Robot:\n    def pose(self): ..."}
    ) as package:
        robot = package["Robot"]
        linked = roles.linked(text, robot["pose"])
    assert '<autoref identifier="kinetree.Robot.pose" optional><code>pose</code></autoref>' in linked
    assert '<autoref identifier="kinetree.Robot" optional><code>Robot</code></autoref>' in linked
    assert "<code>nowhere</code>" in linked
    assert ":`" not in linked


def test_the_reference_describes_every_public_name():
    """Each name of ``kinetree.__all__`` is on one of the pages, by itself or with the module it belongs to."""
    described = set()
    for page in (DOCS / "api").glob("*.md"):
        described |= set(re.findall(r"^::: kinetree\.([\w.]+)$", page.read_text(encoding="utf-8"), re.MULTILINE))
    last = {name.rpartition(".")[2] for name in described}
    modules = {"errors", "c_code", "costs", "published", "stops", "symbolic", "legs", "version"}
    errors = {name for name in kt.__all__ if name.endswith(("Error", "Warning"))}
    elsewhere = {"euler_angle_joints", "simulation", "spatial"}
    missing = set(kt.__all__) - last - modules - errors - elsewhere
    assert not missing, f"put '::: kinetree.NAME' on the page of docs/api where readers look for {sorted(missing)}"


# ------------------------------------------------------------------ the reference

REFERENCE = sorted(page for page in (DOCS / "api").glob("*.md") if page.stem != "index")
ROW = re.compile(r"^\| \[`([^`]+)`\]\[([\w.]+)\] \| (.+) \|$", re.MULTILINE)
SHAPE = re.compile(r"shape|\((?:[\w*. +]+, )*[\w*. +]+,?\)")


def named(path):
    """What a dotted name stands for."""
    parts = path.split(".")
    for end in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:end]))
        except ImportError:
            continue
        for part in parts[end:]:
            found = getattr(found, part)
        return found
    raise LookupError(path)


def functions(thing):
    """Functions, methods and properties that the reference shows of a name."""
    if inspect.ismodule(thing):
        public = [getattr(thing, name) for name in getattr(thing, "__all__", ())]
        return [f for member in public if not inspect.ismodule(member) for f in functions(member)]
    if not inspect.isclass(thing):
        return [inspect.unwrap(thing)] if inspect.isfunction(thing) else []
    asked = {name for base in thing.__mro__[1:] if base.__name__ in internals.ASKED for name in vars(base)}
    hidden = asked | internals.EVERYWHERE | set(internals.OWN_STEPS.get(thing.__name__, "").split())
    found = []
    for name in (name for name in dir(thing) if not name.startswith("_") and name not in hidden):
        member = inspect.getattr_static(thing, name)
        for wrapped in ("__func__", "fget", "func"):  # class methods, properties, cached properties
            member = getattr(member, wrapped, member)
        found += [inspect.unwrap(member)] if inspect.isfunction(member) else []
    return found


@pytest.mark.parametrize("page", REFERENCE, ids=lambda page: page.stem)
def test_every_page_of_the_reference_begins_with_what_is_used_most(page):
    rows = ROW.findall(page.read_text(encoding="utf-8"))
    assert 5 <= len(rows) <= 20
    for call, path, _ in rows:
        target, node = named(path), ast.parse(call, mode="eval").body
        if isinstance(node, ast.Call):
            names = [name for name in inspect.signature(target).parameters if name != "self"]
            given = [a.id if isinstance(a, ast.Name) else None for a in node.args]
            assert all(g in (None, n) for g, n in zip(given, names, strict=False)), (call, names)
            assert {keyword.arg for keyword in node.keywords} <= set(names), (call, names)


@pytest.mark.parametrize("page", REFERENCE, ids=lambda page: page.stem)
def test_the_reference_says_the_shape_of_every_array_that_is_returned(page):
    silent = set()
    for path in re.findall(r"^::: (\S+)$", page.read_text(encoding="utf-8"), re.MULTILINE):
        for function in functions(named(path)):
            text = inspect.getdoc(function) or ""
            told = text.partition("Returns\n")[2] or text.partition("\n\n")[0]
            array = re.search(r"\b(ndarray|Array)\b", str(function.__annotations__.get("return")))
            if array and not SHAPE.search(told):
                silent.add(f"{function.__module__}.{function.__qualname__}")
    assert not silent


def test_the_reference_leaves_internals_out():
    import griffe

    source = """
        __all__ = ["LEGS"]
        LEGS = 4
        NEAR = 1e-3
        class Controller:
            GAINS = ()
            def law(self): ...
            def bound(self): ...
        class PD(Controller):
            def law(self): ...
            def closed_form(self): ...
            def at(self): ...
    """
    extensions = griffe.Extensions(internals.Internals())
    with griffe.temporary_visited_package("kinetree", {"__init__.py": inspect.cleandoc(source)}) as package:
        extensions.call("on_package", pkg=package)
        assert set(package.members) == {"__all__", "LEGS", "Controller", "PD"}
        assert set(package["Controller"].members) == {"law"}
        assert set(package["PD"].members) == {"at"}


def test_studies_go_by_titles_and_pages_have_descriptions():
    entries = re.findall(r"^ +- (.+): studies/([\w-]+)\.md$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
    assert len(entries) == len(list((DOCS / "studies").glob("*.md"))) - 1
    assert not [title for title, name in entries if title.strip('"') == name]
    for page in PAGES:
        told = hooks.description(page.read_text(encoding="utf-8"))
        assert 20 < len(told) <= hooks.LONGEST_DESCRIPTION, (page, told)
        assert not re.search(r"[`*|]|\]\(", told), (page, told)


# ------------------------------------------------------------------ notebooks


def test_there_are_notebooks_with_their_outputs():
    assert len(notebooks.files()) == 6
    for file in notebooks.files():
        assert file.stat().st_size < notebooks.LARGEST, file.name
        cells = [cell for cell in notebooks.read(file)["cells"] if cell["cell_type"] == "code"]
        assert all(cell["execution_count"] == k + 1 for k, cell in enumerate(cells)), file.name
        assert any(cell["outputs"] for cell in cells), file.name
        page = notebooks.page(file)
        assert page.startswith("# ")
        assert "%matplotlib" not in page
        assert f"[Download {file.name}]({file.name})" in page


@pytest.mark.slow
@pytest.mark.parametrize("file", notebooks.files(), ids=lambda file: file.stem)
def test_notebook_runs(file, monkeypatch, tmp_path):
    """Each checks itself; what it says in words is what its file says."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KINETREE_BACKEND", "compiled")
    notebook = notebooks.read(file)
    before = json.dumps(notebook)
    notebooks.run(notebook, file.stem)
    written = [json.loads(before)["cells"], notebook["cells"]]
    kinds = [[[o["output_type"] for o in c["outputs"]] for c in cells if "outputs" in c] for cells in written]
    assert kinds[0] == kinds[1]


def test_former_addresses_lead_to_pages_of_today():
    pages = {page.relative_to(DOCS).with_suffix("").as_posix() for page in PAGES}
    for old, new in hooks.MOVED.items():
        assert old not in pages
        assert new.rstrip("/") in pages
        assert f'url=../{new}"' in hooks.forwarding(new)


# ------------------------------------------------------------------ figures that compute


def test_figures_that_compute_are_of_the_gallery_and_found_from_any_depth():
    names = hooks.live_figures()
    assert len(names) >= 3
    assert set(names) <= set(kt.gallery.names())
    pages = (("theory/closed-loops.md", "../../"), ("viewer.md", "../"), ("index.md", ""), ("for/index.md", "../"))
    for uri, up in pages:
        assert f'src="{up}live/four-bar.html"' in hooks.live_figure("four-bar", uri)
