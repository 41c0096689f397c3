"""A short run of what ``python -m benchmarks.fuzz`` does at length."""

from __future__ import annotations

import pytest

from benchmarks import fuzz


@pytest.mark.parametrize("name", fuzz.TARGETS)
def test_read_or_refused(name):
    assert 3 <= len(fuzz.corpus(name)) <= 30
    # The same files every time, as with hypothesis: whether a change lands is not for luck to say.
    fuzz.plain(name, 2000, seed=0)


def test_the_targets_can_fail(monkeypatch):
    """Else a run that finds nothing would say nothing."""

    def wrong(*arguments, **options):
        raise KeyError("a fault of ours")

    monkeypatch.setattr(fuzz, "read_svmlight", wrong)
    monkeypatch.setattr(fuzz, "load_model", wrong)
    for name in fuzz.TARGETS:
        with pytest.raises(KeyError):
            fuzz.plain(name, 1, seed=0)
