"""The queue without the web: what waits together, what is too much, what takes too long."""

import asyncio
import time

import pytest

from nsed.web.limits import ApiError, Limits
from nsed.web.request_batching import RequestBatcher, Workers
from nsed.web.schemas import TransduceResult


class Recorder:
    """Answers slowly, and remembers what was asked at once."""

    def __init__(self, seconds=0.05, bad=""):
        self.seconds, self.bad, self.batches = seconds, bad, []

    def __call__(self, sources):
        self.batches.append(list(sources))
        time.sleep(self.seconds)
        if self.bad in sources:
            raise ValueError(self.bad)
        return [TransduceResult(source=source, answers=[], unknown=[]) for source in sources]


def asked_at_once(recorder, requests, **limits):
    """What becomes of requests that come at the same time: the sources that were answered, or an error."""

    async def main():
        workers = Workers(Limits(**limits))
        queue = RequestBatcher(workers, recorder, beam=1)
        made = await asyncio.gather(*map(queue.answers, requests), return_exceptions=True)
        assert workers.waiting == 0
        workers.close()
        return [one if isinstance(one, Exception) else [answers.source for answers in one] for one in made]

    return asyncio.run(main())


def test_requests_that_wait_are_answered_together_each_with_its_own():
    recorder = Recorder()
    requests = [[f"word{row}", f"other{row}"] for row in range(100)]
    assert asked_at_once(recorder, requests) == requests
    assert len(recorder.batches) == 4
    assert max(map(len, recorder.batches)) == 64


def test_long_strings_are_answered_in_small_batches():
    recorder = Recorder(seconds=0)
    asked_at_once(recorder, [["a" * 1500] * 9])
    assert [len(batch) for batch in recorder.batches] == [3, 3, 3]


def test_one_bad_source_fails_its_own_request_only():
    first, bad, last = asked_at_once(Recorder(bad="b"), [["a"], ["b"], ["c"]])
    assert (first, last) == (["a"], ["c"])
    assert isinstance(bad, ValueError)


def test_too_much_at_once_is_told_to_come_again():
    answers = asked_at_once(Recorder(), [["a"] * 6, ["b"] * 6], waiting=10)
    assert answers[0] == ["a"] * 6
    assert (answers[1].status, answers[1].headers) == (503, {"Retry-After": "2"})


def test_what_takes_too_long_is_given_up_and_its_rest_never_begun():
    recorder = Recorder(seconds=0.2)
    (late,) = asked_at_once(recorder, [["a"] * 640], timeout=0.3)
    assert late.status == 504
    assert len(recorder.batches) <= 3


def test_single_pieces_of_work_have_the_same_limits():
    async def main():
        workers = Workers(Limits(timeout=0.05, waiting=1))
        late = asyncio.create_task(workers.run(lambda: time.sleep(0.2)))
        await asyncio.sleep(0)
        with pytest.raises(ApiError, match="try again soon"):
            await workers.run(lambda: None)
        with pytest.raises(ApiError, match=r"no answer within 0\.05 seconds"):
            await late
        workers.close()

    asyncio.run(main())
