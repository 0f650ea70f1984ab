"""The collector looks seldom only while the program is loaded."""

import gc

from fff_cli.run.garbage import loaded, spare_loading


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
