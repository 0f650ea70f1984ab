"""Ctrl-C reaches a run that sleeps, whichever thread the system gives the signal to."""

from __future__ import annotations

import asyncio
import signal
import threading
import time
from collections.abc import Callable

import pytest

from fff_cli.run.interrupts import Interrupts
from fff_cli.shell.signals import SessionInterrupts


@pytest.mark.parametrize("kind", [Interrupts, SessionInterrupts])
def test_a_sleeping_run_is_woken(kind: Callable[[], Interrupts]) -> None:
    def interrupt() -> None:
        time.sleep(0.05)  # by then the loop is asleep, or the signal has no difficulty anyway
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)  # whose arrival interrupts no other thread

    async def main() -> None:
        interrupts, heard = kind(), asyncio.Event()
        with interrupts.watching():
            interrupts.gentle = heard.set
            if isinstance(interrupts, SessionInterrupts):
                interrupts._running = asyncio.current_task()
            thread = threading.Thread(target=interrupt)
            thread.start()
            async with asyncio.timeout(20):  # its next appointment, at which it would wake anyway
                await heard.wait()
            thread.join()

    before = signal.getsignal(signal.SIGINT)
    asyncio.run(main())
    assert signal.getsignal(signal.SIGINT) is before
