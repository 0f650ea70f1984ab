"""The collector looks seldom only while the program is loaded."""

import gc

from fff_cli.run.garbage import loaded, spare_loading


def test_the_collector_is_spared_until_all_is_loaded() -> None:
    usual = gc.get_threshold()
    try:
        spare_loading()
        assert gc.get_threshold()[0] > usual[0]
        loaded()
        assert gc.get_threshold() == usual
        frozen = gc.get_freeze_count()
        loaded()
        assert gc.get_freeze_count() == frozen, "what a run leaves behind later is looked through"
    finally:
        gc.unfreeze()
        gc.set_threshold(*usual)
