"""Who is tested: our classifiers, or the rival that ``CONFORMANCE_RIVAL`` names."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from sparsebayes import RVMClassifier, SBELMClassifier, SBLClassifier

RIVAL = os.environ.get("CONFORMANCE_RIVAL")


@dataclass(frozen=True)
class Subject:
    """A classifier as it comes, and the parameters under which its numbers are compared."""

    name: str
    make: Any
    tight: dict = field(default_factory=dict)

    def __call__(self, **parameters):
        return self.make(**parameters)

    def exact(self, **parameters):
        return self.make(**(self.tight | parameters))


# The mode is exact there; the B that a second iteration would rest on depends on the path to it.
DQN_TIGHT = {"map_tol": 1e-8, "map_max_iter": 50_000, "max_iter": 1}
LINEAR = [
    Subject("auto", SBLClassifier),
    Subject("dqn", partial(SBLClassifier, "dqn"), DQN_TIGHT),
    Subject("newton", partial(SBLClassifier, "newton")),
    Subject("sequential", partial(SBLClassifier, "sequential")),
]
OTHERS = [
    Subject("rvm", partial(RVMClassifier, random_state=0)),
    Subject("sbelm", partial(SBELMClassifier, 30, random_state=0)),
]
# The same mode from a narrower prior, which diagonal steps on kernels and nodes come to in reasonable time.
DQN_TIGHT_ON_OTHERS = DQN_TIGHT | {"init_alpha": 1.0}
WITH_OTHER_SOLVERS = [
    Subject("rvm dqn", partial(RVMClassifier, solver="dqn", random_state=0), DQN_TIGHT_ON_OTHERS),
    Subject("rvm newton", partial(RVMClassifier, solver="newton", random_state=0)),
    Subject("sbelm dqn", partial(SBELMClassifier, 30, solver="dqn", random_state=0), DQN_TIGHT_ON_OTHERS),
    Subject("sbelm newton", partial(SBELMClassifier, 30, solver="newton", random_state=0)),
    Subject("sbelm sequential", partial(SBELMClassifier, 30, solver="sequential", random_state=0)),
]
# Which estimator a subject's rows count for.
ESTIMATOR_OF = {subject.name: "SBLClassifier" for subject in LINEAR} | {
    subject.name: {"rvm": "RVMClassifier", "sbelm": "SBELMClassifier"}[subject.name.split()[0]]
    for subject in OTHERS + WITH_OTHER_SOLVERS
}


def emrvc(**parameters):
    from sklearn_rvm import EMRVC

    return EMRVC(**parameters)


RIVALS = {
    "LogisticRegression": Subject(
        "LogisticRegression", LogisticRegression, {"tol": 1e-12, "max_iter": 100_000}
    ),
    "SVC": Subject("SVC", partial(SVC, probability=True, random_state=0), {"tol": 1e-10}),
    "sklearn-rvm": Subject("sklearn-rvm", emrvc),
}
# For the rows that speak of linear models.
LINEAR_RIVALS = {
    "LogisticRegression": RIVALS["LogisticRegression"],
    "SVC": Subject("SVC", partial(SVC, kernel="linear", probability=True, random_state=0), {"tol": 1e-10}),
    "sklearn-rvm": Subject("sklearn-rvm", partial(emrvc, kernel="linear")),
}

# Fixture -> our subjects, and the rivals.
FIXTURES: dict[str, tuple[list[Subject], dict[str, Subject]]] = {
    "estimator": ([LINEAR[0], *OTHERS], RIVALS),  # where the solver does not matter
    "subject": ([*LINEAR, *OTHERS, *WITH_OTHER_SOLVERS], RIVALS),
    "linear": (LINEAR, LINEAR_RIVALS),
    # Where a row asks for what only ours have.
    "own": ([*LINEAR, *OTHERS, *WITH_OTHER_SOLVERS], {}),
    "own_linear": (LINEAR, {}),
}


def chosen(fixture: str) -> list[Subject]:
    ours, rivals = FIXTURES[fixture]
    if RIVAL is None:
        return ours
    return [rivals[RIVAL]] if RIVAL in rivals else []
