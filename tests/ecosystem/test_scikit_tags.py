"""Tags tell tools of scikit-learn what estimators take."""

import pytest
from sklearn.utils import get_tags

from opauc import OPAUC, OPAUCCV, OnePassGAM


def test_an_additive_model_takes_strings_categories_and_missing_values():
    tags = get_tags(OnePassGAM()).input_tags
    assert tags.string
    assert tags.categorical
    assert tags.allow_nan
    assert tags.sparse


@pytest.mark.parametrize("model", [OPAUC(), OPAUCCV()])
def test_a_linear_model_takes_finite_numbers(model):
    tags = get_tags(model)
    assert not any((tags.input_tags.string, tags.input_tags.categorical, tags.input_tags.allow_nan))
    assert tags.input_tags.sparse
    assert tags.classifier_tags.multi_class
