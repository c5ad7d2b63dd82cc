"""scikit-learn's own checks of an estimator, less those that cannot hold where the order of rows matters."""

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

from opauc.linear.estimator import StreamClassifier

# scikit-learn declares the same two of SGDClassifier expected failures: where rows are learned in their order, a weight
# is a factor on a step and not a number of copies.
NOT_COPIES = {"check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data"}


def order_matters(model):
    """Tell whether the estimator learns rows in their order, without fitting it: tests are only being collected."""
    if not isinstance(model, StreamClassifier):
        return False
    return model._recipe().choose(4, "float64").learner.order_matters


def checks_of(models):
    """Parameters (model, check) of a test, of models by name."""
    return [
        pytest.param(model, check, id=f"{name}-{check.func.__name__}")
        for name, model in models.items()
        for left_out in [NOT_COPIES if order_matters(model) else set()]
        for _, check in estimator_checks_generator(model)
        if check.func.__name__ not in left_out
    ]
