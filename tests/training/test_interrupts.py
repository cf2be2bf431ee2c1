"""An interrupt that waits until what is going on is whole."""

import signal
import threading

import pytest

from course_lib.training.interrupts import Interrupted, held_interrupts


@pytest.fixture(autouse=True)
def as_in_a_terminal():
    """Whatever runs the tests may handle interrupts in its own way."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupt():
    signal.raise_signal(signal.SIGINT)


def test_the_first_interrupt_waits_for_the_end(capsys):
    done = []
    with pytest.raises(KeyboardInterrupt):
        with held_interrupts() as waiting:
            assert not waiting
            interrupt()
            assert waiting
            done.append("all of it")
    assert done == ["all of it"]
    assert "Interrupt again to stop at once" in capsys.readouterr().err
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_the_second_does_not():
    done = []
    with pytest.raises(KeyboardInterrupt):
        with held_interrupts():
            interrupt()
            interrupt()
            done.append("what came after")
    assert done == [] and signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_inside_of_each_other_the_outer_one_holds():
    with pytest.raises(KeyboardInterrupt):
        with held_interrupts() as outer:
            with held_interrupts() as inner:
                interrupt()
            assert outer and not inner


def test_without_an_interrupt_nothing_happens(capsys):
    with held_interrupts() as waiting:
        pass
    assert not waiting and capsys.readouterr() == ("", "")
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_error_comes_first():
    with pytest.raises(ZeroDivisionError):
        with held_interrupts():
            interrupt()
            raise ZeroDivisionError
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_not_active_it_changes_nothing():
    with held_interrupts(active=False):
        pytest.raises(KeyboardInterrupt, interrupt)


@pytest.mark.parametrize("handler", [signal.SIG_IGN, lambda number, frame: None], ids=["ignored", "a handler"])
def test_who_handles_interrupts_goes_on_doing_so(handler):
    signal.signal(signal.SIGINT, handler)
    with held_interrupts() as waiting:
        interrupt()
        assert not waiting and signal.getsignal(signal.SIGINT) is handler
    assert signal.getsignal(signal.SIGINT) is handler


def test_another_thread_leaves_them_alone():
    seen = []

    def work():
        with held_interrupts() as waiting:
            seen.extend([list(waiting), signal.getsignal(signal.SIGINT)])

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [[], signal.default_int_handler]


def test_a_notebook_shows_one_line_for_a_training_that_was_stopped(capsys):
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell()
    shell.user_ns["stopped"] = Interrupted(28, 600, kept=False)
    shell.run_cell("def deep():\n    raise stopped\ndeep()")
    shown = capsys.readouterr()
    assert (shown.out + shown.err).strip() == str(shell.user_ns["stopped"])
    assert "after step 28 of 600" in shown.out + shown.err
