"""``python -m sparsebayes``."""

from sparsebayes.cli import main

if __name__ == "__main__":
    main()
