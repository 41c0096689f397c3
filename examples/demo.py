"""Fits the three classifiers on the data sets that ship with scikit-learn, beside their rivals.

Five-fold cross-validation behind a StandardScaler; seconds are for one fit. At the end, a report of one model
as a web page. Run by ``make demo``.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import replace
from importlib.util import find_spec

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.linear_model import LogisticRegressionCV
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from sparsebayes import RVMClassifier, SBELMClassifier, SBLClassifier, make_report

REPORT = "demo-report.html"
DATA = {"iris": load_iris, "wine": load_wine, "breast cancer": load_breast_cancer, "digits": load_digits}
MODELS = {
    "SBLClassifier()": SBLClassifier(),
    "RVMClassifier()": RVMClassifier(),
    "SBELMClassifier()": SBELMClassifier(random_state=0),
    'SBLClassifier("dqn")': SBLClassifier("dqn"),
    "LogisticRegressionCV()": LogisticRegressionCV(max_iter=2000),
    "SVC()": SVC(),
}

NEXT = """
Accuracy and log loss are means over 5 folds. Size: nonzero weights, or vectors, or hidden nodes.

What to try next:
  from sparsebayes import SBLClassifier, RVMClassifier, SBELMClassifier
  clf = RVMClassifier(verbose=1).fit(X, y)     # your own X, dense or scipy.sparse, and y
  clf.predict_proba(X); clf.relevance_vectors_; clf.n_relevant_; clf.status_
  SBLClassifier("dqn").fit(X, y)               # the paper's method, for millions of features
The README goes on from here; `make test` runs the tests."""


def size(model):
    if isinstance(model, SBLClassifier | LogisticRegressionCV):
        return np.count_nonzero(model.coef_)
    return len(model.support_ if isinstance(model, SVC) else model.coef_[0])


def evaluate(model, X, y):
    """Mean accuracy in percent, log loss, size and seconds of a fit, over 5 folds."""
    rows = []
    for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(X, y):
        pipeline = make_pipeline(StandardScaler(), model)
        start = time.perf_counter()
        pipeline.fit(X[train], y[train])
        seconds = time.perf_counter() - start
        has_probabilities = not isinstance(model, SVC)
        loss = log_loss(y[test], pipeline.predict_proba(X[test])) if has_probabilities else np.nan
        rows.append((100 * pipeline.score(X[test], y[test]), loss, size(pipeline[-1]), seconds))
    return np.mean(rows, axis=0)


def report():
    """Of a model of breast cancer: on rows held out, and beside its rivals."""
    if find_spec("matplotlib") is None:
        print(f"{REPORT} was not written: it needs matplotlib, pip install 'sparsebayes[report]'.")
        return
    data = load_breast_cancer()
    X, X_test, y, y_test = train_test_split(data.data, data.target_names[data.target], random_state=0)
    # Names come with a DataFrame by themselves; an array has none.
    model = replace(SBLClassifier().fit(X, y).freeze(), feature_names=data.feature_names.astype(object))
    path = make_report(model, REPORT, X_test, y_test, train=(X, y), rivals=True)
    print(f"A report of SBLClassifier() on breast cancer, to be opened in a browser: {path.resolve()}\n")


def main():
    # The paper's methods rarely meet their own stop within 100 iterations; it is no news here.
    warnings.simplefilter("ignore")
    print(f"{'data':15}{'model':25}{'accuracy':>10}{'log loss':>10}{'size':>9}{'seconds':>9}")
    for data, load in DATA.items():
        X, y = load(return_X_y=True)
        for name, model in MODELS.items():
            accuracy, loss, kept, seconds = evaluate(model, X, y)
            shown = "" if np.isnan(loss) else f"{loss:.3f}"
            print(f"{data:15}{name:25}{accuracy:10.2f}{shown:>10}{kept:9.1f}{seconds:9.2f}", flush=True)
            data = ""
        print()
    report()
    print(NEXT.strip())


if __name__ == "__main__":
    main()
