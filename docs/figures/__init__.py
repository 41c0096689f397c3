"""The figures of the guide and of the README; ``python -m docs.figures`` draws them all anew.

A figure has the numbers that it shows inside, as JSON: a test compares them with what its script makes.
Letters and lines differ between versions of matplotlib, and are not compared.
"""
