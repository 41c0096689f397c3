"""``python -m benchmarks run paper/table2.yaml``: the paper's tables and figures, beside ours."""

from __future__ import annotations

import sys

from benchmarks.reproduction.command import main

sys.exit(main())
