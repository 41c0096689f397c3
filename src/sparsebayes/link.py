"""The logistic likelihood of one sample, stable at any margin.

For a margin ``z`` and a label ``t`` in {0, 1}, with the signed margin ``s = (2t - 1) z``::

    loss       l(z)   = log(1 + exp(-s))            (minus the logarithm of eq. 2)
    residual   l'(z)  = y - t = -(2t - 1) / (1 + exp(s))
    curvature  l''(z) = y (1 - y) = beta            (the diagonal of eq. 7)

All three come from one exponential, ``exp(-|z|)``, which never overflows, and none of them is
formed by a subtraction that cancels: both tails keep full relative precision.
"""

from __future__ import annotations

import numpy as np

from sparsebayes._typing import Vector


def log1pexp(z: Vector) -> Vector:
    """log(1 + exp(z))."""
    return np.asarray(np.maximum(z, 0.0) + np.log1p(np.exp(-np.abs(z))))


def sigmoid(z: Vector) -> Vector:
    """1 / (1 + exp(-z))."""
    decay = np.exp(-np.abs(z))
    return np.asarray(np.where(z >= 0.0, 1.0, decay) / (1.0 + decay))


def loss_and_residual(margins: Vector, sign: Vector) -> tuple[Vector, Vector]:
    """Loss and its derivative with respect to the margin, per sample; ``sign`` is 2t - 1."""
    signed = sign * margins
    decay = np.exp(-np.abs(signed))
    loss = np.log1p(decay) + np.maximum(-signed, 0.0)
    wrong = np.where(signed >= 0.0, decay, 1.0) / (1.0 + decay)
    return np.asarray(loss), np.asarray(-sign * wrong)


def curvature(margins: Vector) -> Vector:
    """Second derivative of the loss with respect to the margin, per sample."""
    decay = np.exp(-np.abs(margins))
    return np.asarray(decay / np.square(1.0 + decay))


def bound_curvature(margins: Vector) -> Vector:
    """Curvature of the parabola that touches the loss at the margin and lies above it everywhere.

    tanh(|z|/2) / (2|z|), Jaakkola & Jordan (2000); never below :func:`curvature`.
    """
    size = np.abs(margins)
    # The series at 0 is 1/4 - z^2/48: below 1e-4 it is 1/4 to the last digit but one.
    return np.asarray(np.where(size < 1e-4, 0.25, np.tanh(0.5 * size) / np.maximum(2.0 * size, 1e-4)))
