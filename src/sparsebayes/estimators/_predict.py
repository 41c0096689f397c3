"""What a fitted classifier answers: its weights, its frozen model, its predictions."""

from __future__ import annotations

import json
from dataclasses import replace
from inspect import signature

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from sparsebayes import __version__, _checks, multiclass
from sparsebayes.design import RowBlocks
from sparsebayes.estimators import _about
from sparsebayes.frozen import FrozenModel
from sparsebayes.io import BlockStore


class PredictingClassifier(ClassifierMixin, BaseEstimator):
    """A classifier by what a fit, which is the subclass's, leaves in its attributes."""

    @property
    def coef_(self):
        """Weights as a dense array, one row a binary problem, zero where pruned."""
        check_is_fitted(self)
        return self.sparse_coef_.toarray()

    @property
    def alpha_(self):
        """Precisions as a dense array, one row a binary problem, infinite where pruned."""
        check_is_fitted(self)
        alpha = np.full(self._sparse_alpha.shape, np.inf)
        rows = np.repeat(np.arange(alpha.shape[0]), np.diff(self._sparse_alpha.indptr))
        alpha[rows, self._sparse_alpha.indices] = self._sparse_alpha.data
        return alpha

    @property
    def coef_std_(self):
        """Posterior standard deviations of the weights, zero where pruned."""
        check_is_fitted(self)
        if self._sparse_std is None:
            raise AttributeError(
                f"This {type(self).__name__} was taken from a path, along which posteriors are not kept: for "
                "coef_std_, fit one of this size."
            )
        return self._sparse_std.toarray()

    def freeze(self):
        """The model as plain data, which predicts by itself: for files, export and programs without a fit.

        Returns
        -------
        model : FrozenModel
            What this classifier predicts through: the kept features, vectors or nodes alone, with their
            weights; with ``proba="moderated"``, also the posterior. Its predictions are the same bits. What a
            report needs to know of the fit is in its ``about``.
        """
        check_is_fitted(self)
        if self._bound_to_training is not None:
            raise ValueError(self._bound_to_training)
        model = self._predictor()
        model = replace(model, about={**model.about, **self._about_fit(model)})
        model.check()
        return model

    def _about_fit(self, model: FrozenModel) -> dict:
        """How the model was fitted, for reports: a few kilobytes at most (``_about.MAX_BYTES``)."""
        defaults = {name: p.default for name, p in signature(type(self)).parameters.items()}
        listed = {
            "class_rows": _about.listed(self._class_rows),
            "spread": _about.listed(self._function_spreads(model)),
        }
        found = {
            "version": __version__,
            "parameters": _about.changed(self.get_params(deep=False), defaults),
            "rows": int(self._class_rows.sum()),
            **{name: values for name, values in listed.items() if values is not None},
            **self._about_selection(),
        }
        courses = [
            _about.Course(
                history,
                int(n_relevant),
                self._follows_path,
                self._has_intercept,
                folds,
                taken_by_size=self._taken_by_size,
            )
            for history, n_relevant, folds in zip(self.history_, self.n_relevant_, self._folds, strict=True)
        ]
        left = _about.MAX_BYTES - len(json.dumps(found))
        return {**found, "training": _about.training(courses, left)}

    def _about_selection(self) -> dict:
        """What a search over folds found."""
        return {}

    def _function_spreads(self, model: FrozenModel):
        """The size of each kept feature in training (its root mean square, about the mean where it is dense);
        None where the fit did not take it.
        """
        if self._units is None or not len(self._units) or np.ptp(self._units) == 0.0:
            return None
        with np.errstate(divide="ignore"):
            total = np.bincount(model.columns, 1.0 / self._units, len(model.basis.numbers))
        return total / np.bincount(model.columns, minlength=len(model.basis.numbers))

    @property
    def _bound_to_training(self) -> str | None:
        """Why the model means nothing without the training data, if so."""
        return None

    def _predictor(self) -> FrozenModel:
        """What predicts: made of the fitted attributes when needed, so that the two cannot differ."""
        coef = self.sparse_coef_
        used, columns = np.unique(coef.indices, return_inverse=True)
        basis = self._basis if len(used) == coef.shape[1] else self._basis.kept(used)
        posteriors = self._posteriors if self.proba == "moderated" else ()
        if posteriors is None:
            raise ValueError(
                f"This {type(self).__name__} was fitted with proba='mode', or taken from a path, and has not "
                "what proba='moderated' needs: fit it again."
            )
        return FrozenModel(
            classes=self.classes_,
            n_features=self._training_shape[1],
            basis=basis,
            weights=coef.data,
            columns=columns,
            starts=coef.indptr,
            intercepts=self.intercept_,
            scheme=self._scheme,
            posteriors=tuple(posteriors) or None,
            weights_std=None if self._sparse_std is None else self._sparse_std.data,
            feature_names=getattr(self, "feature_names_in_", None),
            about={"estimator": type(self).__name__, "status": list(self.status_)},
        )

    def _scores(self, X, client=None) -> multiclass.Scores:
        check_is_fitted(self)
        model = self._predictor()
        if client is not None or isinstance(X, BlockStore | RowBlocks):
            return model.scores(model.rows(self._row_blocks(X, client)))
        return model.scores(self._validated_for_prediction(X))

    def _validated_for_prediction(self, X):
        name = type(self).__name__
        _checks.check_structure(X, name)
        X = validate_data(
            self,
            X,
            accept_sparse="csr",
            dtype=(np.float64, np.float32),
            ensure_all_finite=False,
            reset=False,
        )
        _checks.check_finite(X, name)
        return X

    def decision_function(self, X, *, client=None):
        """Margins for two classes, log probabilities for more: their argmax is the prediction.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or BlockStore
            Features.
        client : distributed.Client, default=None
            A Dask cluster that goes through the blocks of a store, or through those that :meth:`fit` takes.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            Positive means ``classes_[1]`` where there are two classes.
        """
        return self._scores(X, client).decision()

    def predict(self, X, *, client=None):
        """The most probable label of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or BlockStore
            Features.
        client : distributed.Client, default=None
            A Dask cluster that goes through the blocks of a store, or through those that :meth:`fit` takes.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Labels from ``classes_``.
        """
        codes = self._scores(X, client).codes()
        return self.classes_[codes]

    def predict_proba(self, X, *, client=None):
        """Probability of each class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or BlockStore
            Features.
        client : distributed.Client, default=None
            A Dask cluster that goes through the blocks of a store, or through those that :meth:`fit` takes.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``; rows sum to 1.
        """
        return self._scores(X, client).probabilities()

    def predict_log_proba(self, X, *, client=None):
        """Logarithm of the probability of each class, finite for any margin.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or BlockStore
            Features.
        client : distributed.Client, default=None
            A Dask cluster that goes through the blocks of a store, or through those that :meth:`fit` takes.

        Returns
        -------
        log_probabilities : ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        return self._scores(X, client).log_probabilities()
