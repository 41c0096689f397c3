"""The paper's tables and figures: data sets, models as thin adapters, a neutral judge, one record a cell."""
