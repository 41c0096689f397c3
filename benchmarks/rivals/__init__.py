"""Our solvers and their rivals on the same splits: data sets, thin adapters, a neutral judge.

Each command runs the cells (one set, one model, one seed) that have no record yet under
``benchmarks/results/rivals/cells`` and then judges all records there are.
"""
