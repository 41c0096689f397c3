"""Measurements of sparsebayes on real and generated data, each with its limit in ``thresholds.toml``."""
