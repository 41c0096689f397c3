"""Reports: the numbers on the page, and the page in a browser."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from dataclasses import replace
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import metrics
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sparsebayes import (
    FrozenModel,
    SBLClassifier,
    SBLClassifierCV,
    export_c,
    load_model,
    make_report,
    save_model,
)
from sparsebayes.basis import IdentityBasis
from sparsebayes.estimators import _about
from sparsebayes.report import make
from sparsebayes.report.described import Described
from sparsebayes.report.evaluation import Calibration, Roc, coded, wilson
from sparsebayes.report.rivals import _stratified, fitted_rivals
from sparsebayes.report.text import number, visible
from sparsebayes.report.training import Training
from tests.browser import browser  # noqa: F401
from tests.models import ESTIMATORS, fitted, rows, without_functions

KINDS = list(ESTIMATORS)
HELD_OUT = 200
HOSTILE = [
    "</title><script>document.title = 'owned'</script>",
    '"><img src=x onerror="document.title=1">',
    r"$\frac{1}{0}$ and $unclosed",
    "nul \0 bell \a",
    "Größe 大きさ ✓",
    "right to left \u202e gnorw",
    "lone \ud800 surrogate",
    "&lt;b&gt; -->",
]


@cache
def held_out(n_classes):
    """Fresh rows, with the labels that a model gives them but for a fifth of them."""
    X = rows(HELD_OUT, 1, n_classes)[0]
    classifier, rng = fitted("linear", n_classes=n_classes), np.random.default_rng(0)
    y = np.where(rng.random(HELD_OUT) < 0.2, rng.choice(classifier.classes_, HELD_OUT), classifier.predict(X))
    return X, y


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("reports")


@pytest.fixture(scope="module")
def report(folder):
    """The report of a model of each kind, from the estimator with held-out rows or from its file alone."""

    @cache
    def made(kind, n_classes, source):
        name = f"{kind}-{n_classes}-{source}"
        classifier = fitted(kind, n_classes=n_classes)
        if source == "estimator":
            return make_report(classifier, folder / f"{name}.html", *held_out(n_classes))
        save_model(classifier, folder / f"{name}.sbm")
        return make_report(load_model(folder / f"{name}.sbm"), folder / f"{name}.html")

    return made


TABLE = """
const tables = [...document.querySelectorAll("table")];
const found = tables.find(t => t.caption.textContent.startsWith(arguments[0]));
return found && [...found.rows].map(row => [...row.cells].map(cell => cell.textContent));
"""
FACT = """
const found = [...document.querySelectorAll(".facts dt")].find(dt => dt.textContent === arguments[0]);
return found && found.nextElementSibling.firstChild.textContent;
"""
PROBLEMS = r"""
const problems = [], root = document.documentElement;
if (root.scrollWidth > root.clientWidth) problems.push("the page scrolls sideways");
const ids = [...document.querySelectorAll("[id]")].map(e => e.id);
if (new Set(ids).size < ids.length) problems.push("an id occurs twice");
const wanted = [...root.innerHTML.matchAll(/(?:url\(|xlink:href=")#([^)"]+)/g)].map(m => m[1]);
for (const id of wanted) if (!ids.includes(id)) problems.push("no " + id);
for (const use of document.querySelectorAll("[aria-labelledby]"))
  if (!document.getElementById(use.getAttribute("aria-labelledby"))) problems.push("no label");
for (const picture of document.querySelectorAll("figure svg")) {
  if (!picture.closest("[role=img][aria-label]")) problems.push("a figure without a label");
  const box = picture.getBoundingClientRect();
  for (const text of picture.querySelectorAll("text")) {
    const own = text.getBoundingClientRect();
    const out = [box.left - own.left, own.right - box.right, box.top - own.top, own.bottom - box.bottom];
    if (Math.max(...out) > 4) problems.push("text outside its figure: " + text.textContent);
    if (own.height < 8) problems.push("tiny text: " + text.textContent);
  }
}
for (const table of document.querySelectorAll("table"))
  if (!table.caption) problems.push("a table without a caption");
const levels = [...document.querySelectorAll("h1, h2, h3, h4")].map(h => +h.tagName[1]);
if (levels.filter(l => l === 1).length !== 1 || levels[0] !== 1) problems.push("h1");
levels.forEach((l, k) => { if (k && l > levels[k - 1] + 1) problems.push("a heading is skipped"); });
if (root.lang !== "en" || !document.title) problems.push("no language or title");
return problems;
"""
LIGHTNESS = r"""
const light = (element, what) => {
  let colour = getComputedStyle(element)[what];
  const [r, g, b] = colour.match(/[\d.]+/g).map(Number).map(v => v / 255).map(
    v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const section = document.querySelector("section");
return {
  ground: light(document.body, "backgroundColor"), surface: light(section, "backgroundColor"),
  ink: light(document.body, "color"), muted: light(document.querySelector("caption"), "color"),
  tick: light(document.querySelector("figure svg text"), "fill"),
};
"""


@pytest.mark.parametrize("source", ["estimator", "file"])
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("kind", KINDS)
class TestPage:
    def test_is_sound_and_asks_for_nothing(self, kind, n_classes, source, report, browser):  # noqa: F811
        path = report(kind, n_classes, source)
        for width in (1280, 375):
            requests, console = browser.open(path, width=width)
            assert requests == [path.resolve().as_uri()]
            assert console == []
            assert browser.run(PROBLEMS) == []

    def test_has_its_sections(self, kind, n_classes, source, report, browser):  # noqa: F811
        browser.open(report(kind, n_classes, source))
        found = browser.run("return [...document.querySelectorAll('section')].map(s => s.id)")
        expected = ["kept", "judged", "path", "training", "c"]
        expected = [each for each in expected if source == "estimator" or each != "judged"]
        expected = [each for each in expected if kind != "kernel" or each != "path"]  # it follows none
        assert found == expected
        assert browser.run("return document.querySelectorAll('#training svg').length") == 3


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("kind", KINDS)
def test_numbers_are_scikit_learns(kind, n_classes, report, browser):  # noqa: F811
    X, y = held_out(n_classes)
    classifier = fitted(kind, n_classes=n_classes)
    predicted, proba = classifier.predict(X), classifier.predict_proba(X)
    browser.open(report(kind, n_classes, "estimator"))
    share = metrics.accuracy_score(y, predicted)
    assert browser.run(FACT, "Accuracy, held out") == f"{100 * share:.1f}%"
    assert browser.run(FACT, "Log loss, held out") == f"{metrics.log_loss(y, proba):.4f}"
    confusion = browser.run(TABLE, "Confusion matrix")[1:]
    np.testing.assert_array_equal(
        [[int(cell) for cell in row[1:]] for row in confusion], metrics.confusion_matrix(y, predicted)
    )
    text = browser.run("return document.getElementById('judged').textContent")
    decision = classifier.decision_function(X)
    if n_classes == 2:
        assert f"(AUC) {metrics.roc_auc_score(y, decision):.4f}" in text
    else:
        by_class = browser.run(TABLE, "By class")[1:]
        recall = metrics.recall_score(y, predicted, average=None)
        precision = metrics.precision_score(y, predicted, average=None, zero_division=np.nan)
        for k, label in enumerate(classifier.classes_):
            auc = metrics.roc_auc_score(y == label, decision[:, k])
            cells = [str(label), str((y == label).sum()), f"{100 * recall[k]:.1f}%"]
            shown = f"{100 * precision[k]:.1f}%" if precision[k] == precision[k] else "–"
            assert by_class[k] == [*cells, shown, f"{auc:.4f}"]


@pytest.mark.parametrize("kind", KINDS)
def test_weights_and_sizes_are_the_models(kind, report, browser, folder):  # noqa: F811
    model = fitted(kind).freeze()
    browser.open(report(kind, 2, "file"))
    table = browser.run(TABLE, "Weights")[1:]
    assert table[-1][:2] == ["intercept", number(float(model.intercepts[0]))]
    weights = {row[0]: row[1:3] for row in table[:-1]}
    word = {"linear": "feature", "kernel": "row", "hidden": "node"}[kind]
    names = [f"{word} {name}" for name in model.basis.names]
    found = zip(model.weights.tolist(), (2.0 * model.weights_std).tolist(), strict=True)
    assert weights == {name: [number(w), number(s, 3)] for name, (w, s) in zip(names, found, strict=True)}
    sizes = {row[0]: row[1] for row in browser.run(TABLE, "Size as C")[1:]}
    expected = {
        kind: export_c(model, folder / "size.c", dtype=kind).table_bytes for kind in ("double", "float")
    }
    assert {name: int(size) for name, size in sizes.items()} == expected


def test_file_knows_what_the_frozen_model_knows(folder, report):
    alone = make_report(fitted("hidden").freeze(), folder / "frozen.html")
    assert alone.read_bytes() == report("hidden", 2, "file").read_bytes()


def test_same_input_same_bytes_whatever_the_users_settings(folder, report):
    import matplotlib as mpl

    with mpl.rc_context({"font.size": 30, "axes.facecolor": "red", "svg.fonttype": "path"}):
        again = make_report(fitted("kernel"), folder / "again.html", *held_out(2))
        assert mpl.rcParams["font.size"] == 30
    assert again.read_bytes() == report("kernel", 2, "estimator").read_bytes()


@pytest.mark.parametrize("dark", [False, True])
def test_light_and_dark(dark, report, browser):  # noqa: F811
    browser.open(report("linear", 2, "estimator"), dark=dark)
    found = browser.run(LIGHTNESS)
    assert found["ground"] < 0.05 if dark else found["ground"] > 0.85
    for text, ground in [("ink", "ground"), ("ink", "surface"), ("muted", "surface"), ("tick", "surface")]:
        low, high = sorted([found[text], found[ground]])
        assert (high + 0.05) / (low + 0.05) >= 4.5  # WCAG's contrast for text


def test_prints_in_light_with_all_tables(report, browser):  # noqa: F811
    browser.open(report("linear", 4, "estimator"), dark=True, media="print")
    assert browser.run(LIGHTNESS)["ground"] == 1.0
    heights = (
        "return [...document.querySelectorAll('details table')].map(t => t.getBoundingClientRect().height)"
    )
    assert min(browser.run(heights)) > 50
    pdf = browser.driver.print_page()
    assert len(pdf) > 10_000


@pytest.mark.parametrize("n_classes", [2, 4])
def test_hostile_names_are_shown_literally(n_classes, folder, browser):  # noqa: F811
    (X, _), labels = held_out(n_classes), np.array(HOSTILE[:n_classes], dtype=object)
    n_problems, n_names = n_classes * (n_classes - 1) // 2, len(HOSTILE)
    model = FrozenModel(
        classes=labels,
        n_features=n_names,
        basis=IdentityBasis(n_names),
        weights=np.tile(np.linspace(-1.0, 2.0, n_names), n_problems),
        columns=np.tile(np.arange(n_names), n_problems),
        starts=n_names * np.arange(n_problems + 1),
        intercepts=np.zeros(n_problems),
        feature_names=np.array(HOSTILE, dtype=object),
    )
    path = make_report(model, folder / "hostile.html", X, model.predict(X))
    requests, console = browser.open(path, width=375)
    assert len(requests) == 1
    assert console == []
    assert browser.run("return document.title").startswith("A model: ")
    assert browser.run("return document.querySelectorAll('script, img, b').length") == 0
    text = browser.run("return document.body.textContent")
    for name in HOSTILE:
        assert visible(name) in text
    for sign in ("␀", r"\u202e", r"\ud800", "$unclosed"):
        assert sign in text
    assert browser.run(PROBLEMS) == []


def test_file_of_a_stranger(folder, browser):  # noqa: F811
    """Anything may be in ``about``."""
    model = fitted("linear").freeze()
    good = model.about["training"][0]
    bad_tables = [None, 1, {}, {"iteration": ["<b>"]}, {**good["history"], "objective": [1.0]}]
    names = ("training", "rows", "class_rows", "spread", "status")
    values = [None, 3, "x", [], [1], {}, [{"problem": 99}], *([{**good, "history": t}] for t in bad_tables)]
    for value in values:
        found = Training.of(replace(model, about={**model.about, **dict.fromkeys(names, value)}))
        assert [course.history for course in found.courses] in ([], [{}])
        assert found.spread is None
        assert found.class_rows is None
    strange = {"estimator": "<b>", "status": ["<script>"], "parameters": {"<i>": "<i>"}, "version": "<u>"}
    path = make_report(replace(model, about=strange), folder / "strange.html")
    assert browser.open(path)[1] == []
    assert browser.run("return document.querySelectorAll('b, i, u, script').length") == 0


def test_path_is_judged_on_the_rows_held_out(report, browser):  # noqa: F811
    classifier = fitted("linear")
    X, y = held_out(2)
    given = make._rows(classifier.freeze(), X, y, "")
    found = make._judged_path(classifier, Described.of(classifier.freeze(), None), given)
    for size, share, loss in zip(found.sizes, found.accuracy, found.log_loss, strict=True):
        at = classifier.at(int(size))
        assert share == at.score(X, y)
        assert loss == pytest.approx(metrics.log_loss(y, at.predict_proba(X)), rel=1e-9)
    assert found.sizes[found.taken] == classifier.n_relevant_[0]
    browser.open(report("linear", 2, "estimator"))
    assert browser.run("return document.querySelectorAll('#path svg').length") == 3
    browser.open(report("linear", 2, "file"))
    assert browser.run("return document.querySelectorAll('#path svg').length") == 1


def test_rivals(folder, browser):  # noqa: F811
    X, y = held_out(2)
    path = make_report(fitted("linear"), folder / "r.html", X, y, train=rows(120, 0), rivals=True)
    assert browser.open(path, width=375) == ([path.resolve().as_uri()], [])
    assert browser.run(PROBLEMS) == []
    ours, logistic, support = browser.run(TABLE, "The model and its rivals")[1:]
    search = GridSearchCV(
        make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
        {"logisticregression__C": np.logspace(-3, 3, 7)},
        scoring="neg_log_loss",
        cv=StratifiedKFold(5, shuffle=True, random_state=0),
    ).fit(*rows(120, 0))
    proba = search.predict_proba(X)[:, 1]
    assert ours[1] == f"{100 * fitted('linear').score(X, y):.1f}%"
    assert logistic[1] == f"{100 * (search.predict(X) == y).mean():.1f}%"
    assert logistic[3:5] == [f"{metrics.log_loss(y, proba):.4f}", f"{metrics.roc_auc_score(y, proba):.4f}"]
    assert support[3] == "–"  # a support vector machine has no probabilities
    assert float(support[1].rstrip("%")) > 70.0
    sizes = browser.run(TABLE, "Size as C")
    assert [row[0] for row in sizes[1:]] == ["double", "float", "int16, float", "int8, float"]


def test_rivals_of_sparse_rows_and_many_classes():
    X_train, codes = rows(120, 0, 4)
    X, truth = held_out(4)
    found = fitted_rivals(sp.csr_matrix(X_train), codes, sp.csr_matrix(X), truth, np.arange(4))
    for rival in found:
        assert rival.evaluation.accuracy.share > 0.5
    sample = _stratified(np.repeat([0, 1, 2], [5000, 3000, 3]), 400)
    assert np.bincount(np.repeat([0, 1, 2], [5000, 3000, 3])[sample]).tolist() == [250, 150, 3]


def test_what_is_wrong_is_said(folder):
    classifier, (X, y) = fitted("linear"), held_out(2)
    path = folder / "wrong.html"
    with pytest.raises(ValueError, match="label 7, which is not among the classes"):
        make_report(classifier, path, X[:2], [0, 7])
    with pytest.raises(ValueError, match="both be given"):
        make_report(classifier, path, X)
    with pytest.raises(ValueError, match="200 rows, but 3 labels"):
        make_report(classifier, path, X, y[:3])
    with pytest.raises(ValueError, match="Rivals need training rows"):
        make_report(classifier, path, X, y, rivals=True)
    with pytest.raises(ValueError, match="two training rows of each class"):
        make_report(classifier, path, X, y, train=(X[:1], y[:1]), rivals=True)
    with pytest.raises(ValueError, match="expects 8"):
        make_report(classifier, path, X[:, :3], y)
    with pytest.raises(TypeError, match="Expected a fitted classifier"):
        make_report("model.sbm", path)
    assert not path.exists()


def test_needs_matplotlib_and_says_how_to_get_it(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r"pip install 'sparsebayes\[report\]'"):
        make_report(fitted("linear"), folder / "without.html")


def test_is_not_loaded_unasked():
    code = "import sys, sparsebayes; sys.exit('sparsebayes.report' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_edges(folder, browser):  # noqa: F811
    """No function at all; rows of one class alone; two features; a title and a date; very many classes."""
    model, (X, y) = fitted("linear").freeze(), held_out(2)
    make_report(without_functions(model, [0.3]), folder / "empty.html", X, y)
    one = y == y[0]
    path = make_report(model, folder / "one.html", X[one], y[one], title="A <title>", date="2020-02-03")
    assert browser.open(path) == ([path.resolve().as_uri()], [])
    assert browser.run("return document.title") == "A <title>"
    assert "2020-02-03" in browser.run("return document.querySelector('footer').textContent")
    assert browser.run("return document.getElementById('judged').textContent").count("AUC") == 0
    many = FrozenModel(
        classes=np.arange(40),
        n_features=8,
        basis=IdentityBasis(8),
        weights=np.linspace(-1.0, 1.0, 320),
        columns=np.tile(np.arange(8), 40),
        starts=np.arange(0, 321, 8),
        intercepts=np.zeros(40),
        scheme="ovr",
    )
    path = make_report(many, folder / "many.html", X, np.arange(len(X)) % 40)
    assert browser.open(path, width=375) == ([path.resolve().as_uri()], [])
    assert browser.run(PROBLEMS) == []
    assert len(browser.run(TABLE, "The most frequent confusions")) == 21
    plane = ESTIMATORS["kernel"]().fit(X[:60, :2], y[:60])
    browser.open(make_report(plane, folder / "plane.html", sp.csr_matrix(X[:, :2]), y))
    assert "ecision regions" in browser.run("return document.getElementById('kept').innerHTML")


class TestEvaluation:
    @pytest.mark.parametrize("n_values", [3, 1000])
    def test_roc(self, rng, n_values):
        scores, positive = rng.integers(n_values, size=300) / 7.0, rng.random(300) < 0.4
        found = Roc.of(positive, scores)
        false, true, _ = metrics.roc_curve(positive, scores, drop_intermediate=False)
        np.testing.assert_allclose(found.false, false)
        np.testing.assert_allclose(found.true, true)
        assert found.auc == pytest.approx(metrics.roc_auc_score(positive, scores), abs=1e-12)

    def test_roc_of_one_class_is_undefined(self):
        assert math.isnan(Roc.of(np.ones(3, dtype=bool), np.arange(3.0)).auc)

    def test_calibration_by_hand(self):
        found = Calibration.of(np.array([0.05, 0.05, 0.95, 1.0]), np.array([0, 1, 1, 1]))
        assert found.counts.tolist() == [2, 0, 0, 0, 0, 0, 0, 0, 0, 2]
        assert found.error == pytest.approx(0.5 * 0.45 + 0.5 * 0.025)

    def test_wilson(self):
        """Against the roots of its quadratic, at counts of a textbook."""
        low, high = wilson(np.array([0, 81, 10]), np.array([10, 263, 10]))
        np.testing.assert_allclose(low, [0.0, 0.2553, 0.7225], atol=1e-4)
        np.testing.assert_allclose(high, [0.2775, 0.3662, 1.0], atol=1e-4)

    def test_labels_of_other_types(self):
        assert coded([1.0, 0.0], np.array([0, 1])).tolist() == [1, 0]
        assert coded(np.array(["b"]), np.array(["a", "b"], dtype=object)).tolist() == [1]


class TestAbout:
    """What a frozen model remembers of its fit."""

    @pytest.mark.parametrize("solver", ["auto", "sequential", "dqn"])
    @pytest.mark.parametrize("kind", KINDS)
    def test_is_the_history(self, kind, solver):
        classifier = fitted(kind, solver, n_classes=4)
        about = json.loads(json.dumps(classifier.freeze().about))
        assert about["rows"] == sum(about["class_rows"]) == 120
        for entry in about["training"]:
            records = {record["iteration"]: record for record in classifier.history_[entry["problem"]]}
            columns = [entry["history"][name] for name in ("iteration", "n_active", "objective")]
            for iteration, n_active, objective in zip(*columns, strict=True):
                assert n_active == records[iteration]["n_active"]
                assert objective == pytest.approx(records[iteration]["objective"], rel=1e-4)

    @pytest.mark.parametrize("n_classes", [2, 4])
    def test_is_the_path(self, n_classes):
        classifier = fitted("linear", n_classes=n_classes)
        paths = classifier.path_ if n_classes > 2 else [classifier.path_]
        entries = classifier.freeze().about["training"]
        for path, entry, kept in zip(paths, entries, classifier.n_relevant_, strict=True):
            found = entry["path"]
            assert found["n_relevant"] == path["n_relevant"].tolist()
            assert found["n_relevant"][found["taken"]] == kept
            assert found["chosen_by"] == "leave-one-out loss"
            assert len(found["criterion"]) == len(found["n_relevant"])

    def test_of_a_model_taken_from_the_path(self):
        found = fitted("linear").at(2).freeze().about["training"][0]["path"]
        assert found["n_relevant"][found["taken"]] == 2
        assert found["chosen_by"] == "size"
        assert "criterion" in found

    def test_of_folds(self):
        X, y = rows(120, 0)
        chosen = SBLClassifier(select="cv").fit(X, y)
        folds = chosen.freeze().about["training"][0]["folds"]
        best = folds["n_relevant"][int(np.argmin(folds["log_loss"]))]
        assert best == chosen.n_relevant_[0]
        assert all(0.4 < share <= 1.0 for share in folds["accuracy"])
        searched = SBLClassifierCV(max_iter=20).fit(X, y)
        about = searched.freeze().about["cross_validation"]
        assert about["score"][about["taken"]] == pytest.approx(searched.best_score_, rel=1e-4)
        assert about["scoring"] == "accuracy"

    @pytest.mark.parametrize("source", ["select", "search"])
    def test_of_folds_is_drawn(self, source, folder, browser):  # noqa: F811
        X, y = rows(120, 0)
        options = {"select": "cv"} if source == "select" else {"max_iter": 20}
        classifier = (SBLClassifier if source == "select" else SBLClassifierCV)(**options).fit(X, y)
        browser.open(make_report(classifier.freeze(), folder / "folds.html"), width=375)
        assert "Cross-validation" in browser.run("return document.getElementById('path').textContent")
        assert browser.run(PROBLEMS) == []

    def test_stays_small(self):
        """All that a fit adds, for two problems and for thousands."""
        courses = fitted("linear", n_classes=4).history_
        for n_problems in (1, 45, 4950):
            some = [_about.Course(courses[k % 6] * 30, 3, True, True, None) for k in range(n_problems)]
            entries = _about.training(some)
            assert len(json.dumps(entries)) <= _about.MAX_BYTES
            assert len(entries) == min(n_problems, _about.MAX_PROBLEMS)
            assert min(len(entry["history"]["iteration"]) for entry in entries) >= 5
        plain = ("estimator", "status")
        added = {k: v for k, v in fitted("linear", n_classes=4).freeze().about.items() if k not in plain}
        assert len(json.dumps(added)) <= _about.MAX_BYTES

    def test_same_fit_same_file(self, tmp_path):
        for name in "ab":
            save_model(SBLClassifier().fit(*rows(120, 0)), tmp_path / name)
        assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()

    def test_is_not_made_for_a_prediction(self, monkeypatch):
        classifier = fitted("linear")
        monkeypatch.setattr(_about, "training", None)
        classifier.predict(held_out(2)[0])

    def test_parameters_are_those_that_were_set(self):
        X, y = rows(60, 0)
        classifier = SBLClassifier(max_features=np.int64(2), class_weight={0: 1.0, 1: 2.0}).fit(X, y)
        assert classifier.freeze().about["parameters"] == {"max_features": 2}

    def test_thinning_keeps_the_ends(self):
        for length, n_points in [(5, 10), (100, 7), (1000, 2), (1000, 3)]:
            found = _about.evenly(length, n_points, min(length - 1, 42))
            assert {0, length - 1, min(length - 1, 42)} <= set(found.tolist())
            assert len(found) <= max(n_points, 3)
            assert all(a < b for a, b in pairwise(found))
