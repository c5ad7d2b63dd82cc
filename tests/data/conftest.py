"""Short texts are read by the kernels here, as long ones are; `test_small_text` compares the two ways."""

import pytest


@pytest.fixture(autouse=True, scope="module")
def _by_kernels():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("opauc.data.sources.SMALL_TEXT", 0)
        patch.setattr("opauc.data.kernels.rows.SMALL", 0)
        yield
