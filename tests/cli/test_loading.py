"""What is otherwise while the program is loaded is as usual from then on."""

import gc
import os
import subprocess
import sys

import pytest

from fff_cli.run.loading import load_transport, loaded, spare_loading


def test_the_collector_is_spared_until_all_is_loaded() -> None:
    before = gc.get_threshold()
    usual = (700, *before[1:])  # what another test of this process left behind does not matter
    try:
        gc.set_threshold(*usual)
        spare_loading()
        assert gc.get_threshold()[0] > usual[0]
        loaded()
        assert gc.get_threshold() == usual
        frozen = gc.get_freeze_count()
        loaded()
        assert gc.get_freeze_count() <= frozen, "what a run leaves behind later is looked through"
    finally:
        gc.unfreeze()
        gc.set_threshold(*before)


def test_what_libraries_read_is_set_until_all_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    """And what somebody else has set stays."""
    monkeypatch.delenv("OPENBLAS_THREAD_TIMEOUT", raising=False)
    monkeypatch.setenv("NUMPY_MADVISE_HUGEPAGE", "1")
    before, usual = dict(os.environ), gc.get_threshold()
    try:
        spare_loading()
        assert os.environ["OPENBLAS_THREAD_TIMEOUT"] == "4"
        assert os.environ["NUMPY_MADVISE_HUGEPAGE"] == "1"
        loaded()
        assert dict(os.environ) == before
    finally:
        gc.unfreeze()
        gc.set_threshold(*usual)


@pytest.mark.parametrize("usual", [None, "mine.pem"])
def test_certificates_are_where_they_were_once_aiohttp_is_loaded(
    monkeypatch: pytest.MonkeyPatch, usual: str | None
) -> None:
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    if usual is not None:
        monkeypatch.setenv("SSL_CERT_FILE", usual)
    load_transport()
    assert os.environ.get("SSL_CERT_FILE") == usual


def test_what_arrow_is_loaded_without_is_there_later() -> None:
    """Its functions are whole but for the help on their options, whatever its version wants of documentation."""
    program = """
import warnings; warnings.simplefilter("error")
from fff_cli.run.loading import loaded, spare_loading
spare_loading()
import pyarrow.compute as pc
loaded()
from pyarrow.vendored import docscrape
print(pc.round(pc.add(1, 1.26), ndigits=1), str(pc.round.__signature__)[:12], pc.add.__doc__[:3], "ndigits :" in pc.round.__doc__)
print(docscrape.NumpyDocString("A.\\n\\nParameters\\n----------\\na : int\\n    B.")["Parameters"][0].name)
"""
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert told.stdout.split("\n")[:2] == ["2.3 (x, /, ndigi Add False", "a"]
