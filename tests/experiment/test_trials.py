"""The order of trials, disturbed trials, levels that fail."""

import os
import time

import numpy as np
import pytest
from msgspec.structs import replace

from iowhy.errors import Problem
from iowhy.experiments.condition import Condition
from iowhy.experiments.lever_answer import Verdict
from iowhy.experiments.load import Others
from iowhy.experiments.neighbours import loud
from iowhy.experiments.time_limit import Clock, out_of_time_named
from iowhy.experiments.trials import Plan, Watch, conduct
from iowhy.whys.proof_time import seconds_needed
from tests.numbers_told import tells
from tests.problems import asks

from .fake import HALF, MOST, OFF, TAKEN, Fake

LEVERS = {"cpu-quota": [MOST, HALF], "io-contention": [TAKEN]}


def run(seed=1, blocks=6, levers=LEVERS, **how):
    fake = Fake(np.random.default_rng(seed), **how)
    return fake, conduct(levers, fake, Plan(seed, least=blocks, most=blocks))


def test_each_block_holds_every_condition_once_and_every_second_mirrors_the_first():
    fake, done = run()
    blocks = [fake.order[i : i + 4] for i in range(0, 24, 4)]
    assert len(fake.order) == 24 and done.blocks == 6
    for block in blocks:
        assert len(set(block)) == 4
    for first, second in zip(blocks[::2], blocks[1::2], strict=True):
        assert second == first[::-1]
    assert len({tuple(block) for block in blocks[::2]}) > 1


def test_the_order_follows_from_the_seed_alone():
    assert run(seed=5)[0].order == run(seed=5, noise=0.3)[0].order
    assert run(seed=5)[0].order != run(seed=6)[0].order


def test_an_exact_effect_is_found_exactly():
    slower = {"cpu-quota 50 %": 2.0, "cpu-quota 70 %": 1 / 0.7}
    _, done = run(slower=slower)
    quota = done.answers["cpu-quota"]
    assert quota.verdict is Verdict.BOUND
    assert abs(quota.sensitivity.value - 1) < 1e-9
    assert [round(r.slower.value, 6) for r in quota.responses] == [round(1 / 0.7, 6), 2.0]
    assert done.answers["io-contention"].verdict is Verdict.NOT_BOUND


def test_more_is_better_turns_the_effect_round():
    fake = Fake(np.random.default_rng(1), slower={"cpu-quota 50 %": 0.5})
    plan = Plan(1, least=5, most=5, higher_is_better=True)
    found = conduct({"cpu-quota": [HALF]}, fake, plan).answers["cpu-quota"]
    assert abs(found.sensitivity.value - 1) < 1e-9


def test_a_relieving_lever_tells_the_share_that_it_saves():
    _, done = run(levers={"sync-free": [OFF]}, slower={"sync-free off": 0.25})
    found = done.answers["sync-free"]
    assert found.verdict is Verdict.BOUND
    assert abs(found.share.value - 0.75) < 1e-9 and found.sensitivity is None


def test_a_squeeze_that_makes_it_faster_is_no_binding():
    _, done = run(slower={"cpu-quota 50 %": 0.5, "cpu-quota 70 %": 0.7})
    assert done.answers["cpu-quota"].verdict is Verdict.OTHER_WAY


def test_a_lever_that_is_resolved_is_run_no_more():
    fake = Fake(np.random.default_rng(1), noise=0.05, slower={"io-contention 30 % taken": 3.0})
    done = conduct(LEVERS, fake, Plan(1, least=5, most=15))
    assert done.answers["io-contention"].blocks == 5
    assert fake.order.count("io-contention 30 % taken") == 5
    assert done.answers["cpu-quota"].blocks > 5


def test_a_disturbed_trial_is_run_again_and_counted():
    def others(count):
        return Others(1.5 if count == 10 else 0.1, 0.0)

    fake = Fake(np.random.default_rng(1), others=others)
    plan = Plan(1, least=5, most=5)
    done = conduct({"cpu-quota": [HALF]}, fake, plan, watch=Watch(cpus=0.5))
    assert done.repeated == 1 and len(done.trials) == 11
    assert [trial.disturbed for trial in done.trials].count(True) == 1
    assert done.answers["cpu-quota"].blocks == 5


def test_disk_load_of_others_disturbs_too():
    watch = Watch(cpus=0.5)
    fake = Fake(np.random.default_rng(1), others=lambda n: Others(0.0, 90e6 if n == 4 else 1e6))
    done = conduct({"cpu-quota": [HALF]}, fake, Plan(1, least=5, most=5), watch=watch)
    assert done.repeated == 1


def test_a_machine_that_is_never_quiet_ends_all_the_same():
    fake = Fake(np.random.default_rng(1), others=lambda n: Others(2.0 * (n > 2), 0.0))
    done = conduct({"cpu-quota": [HALF]}, fake, Plan(1, least=5, most=5), watch=Watch(cpus=0.5))
    assert done.blocks == 5 and done.repeated > 0 and done.kept_disturbed > 0


def test_a_level_that_fails_leaves_the_others():
    fake = Fake(np.random.default_rng(1), slower={"cpu-quota 70 %": 2.0})
    fake.failing = ("cpu-quota 50 %",)
    done = conduct(LEVERS, fake, Plan(1, least=5, most=5))
    assert done.failed == {Condition("cpu-quota", HALF): "killed"}
    assert [r.label for r in done.answers["cpu-quota"].responses] == ["70 %"]
    assert "io-contention" in done.answers


def test_progress_tells_how_many_trials_there_may_be():
    fake = Fake(np.random.default_rng(1))
    seen = []
    conduct(LEVERS, fake, Plan(1, least=5, most=5), on_progress=seen.append)
    assert [one.done for one in seen] == list(range(20))
    assert {one.at_most for one in seen} == {20}


def test_a_lever_that_took_nothing_away_has_shown_nothing():
    fake = Fake(np.random.default_rng(1))
    original = fake.run

    def run_with_factor(condition):
        trial = original(condition)
        return trial if condition.lever is None else replace(trial, factor=0.995)

    fake.run = run_with_factor
    found = conduct({"io-contention": [TAKEN]}, fake, Plan(1, least=5, most=5))
    answer = found.answers["io-contention"]
    assert answer.verdict is Verdict.UNRESOLVED
    assert answer.why_unresolved == "the lever took hardly anything away"


def test_no_block_begins_that_would_not_end_in_time():
    fake = Fake(np.random.default_rng(1), noise=0.01, slower={"cpu-quota 50 %": 2.0})
    now = time.monotonic()
    done = conduct(LEVERS, fake, Plan(1, least=5, most=15, until_s=now - 1))
    # The first block is there; what it shows is little, and it says so.
    assert done.out_of_time and done.blocks == 1
    assert done.answers["cpu-quota"].verdict is Verdict.UNRESOLVED
    assert not conduct(LEVERS, fake, Plan(1, least=5, most=5, until_s=now + 60)).out_of_time


def test_three_blocks_answer_for_a_large_effect():
    fake = Fake(np.random.default_rng(1), noise=0.01, slower={"sync-free off": 0.05})
    done = conduct({"sync-free": [OFF]}, fake, Plan(1, least=3, most=15))
    assert done.blocks == 3 and done.answers["sync-free"].verdict is Verdict.BOUND


@pytest.mark.parametrize(
    ("others", "cpus", "loud_"), [(0.1, 1, False), (1.4, 1, True), (0.4, 2, True), (0.9, 1, False)]
)
def test_no_headline_where_others_use_what_the_command_needs(monkeypatch, others, cpus, loud_):
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    fake = Fake(np.random.default_rng(1))
    watch = Watch(cpus=0.5, resting=lambda: Others(others, 0.0))
    done = conduct({"cpu-quota": [HALF]}, fake, Plan(1, least=5, most=5), watch=watch)
    found = loud(done, cpus)
    assert (found is not None) is loud_
    assert found is None or found.id == "loud-cpus"


def test_no_headline_where_most_trials_were_disturbed():
    fake = Fake(np.random.default_rng(1), others=lambda n: Others(2.0 * (n > 2), 0.0))
    done = conduct({"cpu-quota": [HALF]}, fake, Plan(1, least=5, most=5), watch=Watch(cpus=0.5))
    assert loud(done, 1.0).id == "loud-trials"


def test_how_long_it_takes_is_said_before_it_begins_or_refused():
    said = []
    Clock(60.0).announce(3.0, 1, said.append)
    assert len(said) == 1 and tells(said[0], "24 s") and tells(said[0], "60 s")
    with pytest.raises(Problem) as refused:
        Clock(60.0).announce(20.0, 1, said.append)
    asks(refused.value, "trials-take-longer", runs=6, enough="4m")
    assert seconds_needed(3.0) == 24.0


def test_a_run_that_does_not_end_in_time_is_left_with_what_is_known():
    fake = Fake(np.random.default_rng(1), slower={"sync-free off": 0.05})
    original = fake.run

    def run_long(condition):
        if len(fake.order) == 6:
            time.sleep(20)
        return original(condition)

    fake.run = run_long
    clock = Clock(0.3)
    with clock.rings():
        done = conduct({"sync-free": [OFF]}, fake, Plan(1, least=5, most=15))
    assert done.out_of_time and done.blocks == 3
    assert done.answers["sync-free"].verdict is Verdict.BOUND
    with pytest.raises(Problem) as refused, out_of_time_named(clock), clock.rings():
        time.sleep(20)
    asks(refused.value, "out-of-time", longer="1m")
