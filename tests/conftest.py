import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "hf_bpe",
    deadline=None,
    max_examples=100,
    derandomize=bool(os.environ.get("CI")),
    suppress_health_check=[HealthCheck.too_slow],  # how fast a machine is proves nothing
)
settings.load_profile("hf_bpe")


@pytest.fixture(scope="session")
def test_data():
    folder = os.environ.get("HF_BPE_TEST_DATA")
    if not folder:
        pytest.skip("set HF_BPE_TEST_DATA to the folder of the test data")
    return Path(folder)
