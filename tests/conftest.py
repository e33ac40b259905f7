"""What every test shares: how much hypothesis tries, and where the recorded references lie."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("RECNMP_SHARED", ROOT.parent / "shared"))

# Derandomised, so that a run fails or passes for the code's sake and never for the seed's. The whole
# suite shares two cores with the kernels' threads: no deadline.
settings.register_profile(
    "daily", max_examples=40, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("ci", parent=settings.get_profile("daily"), max_examples=250)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "daily"))


@pytest.fixture(scope="session")
def root() -> Path:
    """The checkout."""
    return ROOT


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of recorded references beside the checkout, or $RECNMP_SHARED.

    A daily run without it skips the test; a CI run (environment variable CI) without it fails.
    """
    if SHARED.is_dir():
        return SHARED
    message = f"no recorded references at {SHARED}; RECNMP_SHARED may name another folder"
    if os.environ.get("CI"):
        pytest.fail(message)
    pytest.skip(message)


@pytest.fixture(scope="session")
def compiled_circuits(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Compiled circuits of this run lie in a folder of its own; one for all modules."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RECNMP_CACHE", str(tmp_path_factory.mktemp("circuits")))
        yield
