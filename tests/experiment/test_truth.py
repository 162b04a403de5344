"""The statistics against a truth that is known: false alarms, power, coverage, drift."""

import numpy as np
import pytest

from iowhy.experiments import statistics
from iowhy.experiments.lever_answer import Verdict
from iowhy.experiments.trials import Plan, conduct

from .fake import HALF, MOST, TAKEN, Fake

ALARMS = (Verdict.BOUND, Verdict.PARTLY, Verdict.OTHER_WAY)
TWO_LEVERS = {"cpu-quota": [MOST, HALF], "io-contention": [TAKEN]}


def drifts(random, at_most=0.5):
    """A machine that gets slower: evenly, at one moment, or ever faster."""
    far = random.uniform(0, at_most)
    when = random.uniform(0, 50)
    shapes = (
        lambda _: 1.0,
        lambda t: 1 + far * t / 60,
        lambda t: 1 + far * (t > when),
        lambda t: float(np.exp(far * t / 60)),
    )
    return shapes[random.integers(len(shapes))]


def test_no_effect_is_reported_as_one_in_at_most_5_percent_of_experiments():
    alarms = 0
    for seed in range(600):
        random = np.random.default_rng(seed)
        fake = Fake(random, noise=random.uniform(0.01, 0.20), drift=drifts(random))
        done = conduct(TWO_LEVERS, fake, Plan(seed, most=12))
        alarms += any(one.verdict in ALARMS for one in done.answers.values())
    assert alarms <= 30


def test_skewed_noise_does_not_raise_false_alarms():
    alarms = 0
    for seed in range(200):
        random = np.random.default_rng(seed)
        fake = Fake(random)
        # Now and then a run is hit by something: a long tail to one side.
        fake.drift = lambda _t, random=random: 1 + 0.3 * random.exponential() ** 2
        done = conduct(TWO_LEVERS, fake, Plan(seed, most=12))
        alarms += any(one.verdict in ALARMS for one in done.answers.values())
    assert alarms <= 10


def test_a_tenth_slower_at_3_percent_noise_is_resolved():
    resolved = 0
    for seed in range(200):
        fake = Fake(np.random.default_rng(seed), noise=0.03, slower={"cpu-quota 50 %": 1.1})
        done = conduct({"cpu-quota": [HALF]}, fake, Plan(seed, most=15))
        resolved += done.answers["cpu-quota"].verdict is Verdict.PARTLY
    assert resolved >= 196


def test_no_effect_is_told_from_an_unresolved_one():
    verdicts = []
    for seed in range(100):
        fake = Fake(np.random.default_rng(seed), noise=0.02)
        done = conduct({"cpu-quota": [HALF]}, fake, Plan(seed, most=15))
        verdicts.append(done.answers["cpu-quota"].verdict)
    assert verdicts.count(Verdict.NOT_BOUND) >= 95


@pytest.mark.parametrize("blocks", [3, 5, 8, 15])
def test_95_percent_intervals_hold_the_truth_in_93_to_97_percent(blocks):
    held = 0
    count = 800
    for seed in range(count):
        random = np.random.default_rng([seed, blocks])
        truth = float(random.choice([0.0, 0.14, 0.5, 1.0]))
        noise = random.uniform(0.01, 0.20)
        fake = Fake(random, noise, {"cpu-quota 50 %": 2**truth}, drifts(random, 0.2))
        done = conduct({"cpu-quota": [HALF]}, fake, Plan(seed, least=blocks, most=blocks))
        found = done.answers["cpu-quota"].sensitivity
        held += found.low <= truth <= found.high
    assert 0.93 <= held / count <= 0.97


def test_stopping_early_keeps_the_coverage():
    held = 0
    count = 800
    for seed in range(count):
        random = np.random.default_rng([seed, 99])
        truth = float(random.choice([0.0, 0.14, 0.5, 1.0]))
        fake = Fake(random, random.uniform(0.01, 0.20), {"cpu-quota 50 %": 2**truth})
        done = conduct({"cpu-quota": [HALF]}, fake, Plan(seed, most=15))
        found = done.answers["cpu-quota"].sensitivity
        held += found.low <= truth <= found.high
    assert 0.93 <= held / count <= 0.97


def test_drift_shows_up_as_drift_and_not_as_an_effect():
    # 50 % slower over the session, hardly any noise: without blocks this would be an effect.
    for seed in range(60):
        fake = Fake(np.random.default_rng(seed), noise=0.005, drift=lambda t: 1 + t / 40)
        done = conduct({"cpu-quota": [HALF]}, fake, Plan(seed))
        assert done.answers["cpu-quota"].verdict is Verdict.NOT_BOUND


def test_looks_share_the_false_alarms():
    for least, most in ((5, 15), (3, 20), (5, 5), (5, 6)):
        seen = statistics.looks(least, most)
        assert seen[0] == (least if least < most else most)
        assert seen[-1] == most
        assert sum(statistics.spent(i, len(seen)) for i in range(len(seen))) == pytest.approx(1)


def test_how_many_more_runs_is_about_right():
    # With as many as it typically asks for, most experiments are resolved, and with 5 few are.
    def run(seed, blocks):
        fake = Fake(np.random.default_rng(seed), noise=0.08, slower={"cpu-quota 50 %": 1.12})
        done = conduct({"cpu-quota": [HALF]}, fake, Plan(seed, least=blocks, most=blocks))
        return done.answers["cpu-quota"]

    short = [run(seed, 5) for seed in range(60)]
    asked = [one.more_blocks for one in short if one.more_blocks]
    assert len(asked) >= 20
    assert 2 <= np.median(asked) <= 25
    blocks = 5 + int(np.median(asked))
    assert sum(run(seed, blocks).resolved for seed in range(60)) >= 36


def test_two_samples_known_answers():
    a = np.array([1.0, 1.1, 0.9, 1.05, 0.95, 1.0])
    same = statistics.two_samples(a, a[::-1].copy())
    assert same.ratio.value == pytest.approx(1)
    assert same.superiority == pytest.approx(0.5)
    assert same.p_mann_whitney > 0.5 and same.p_permutation > 0.5
    twice = statistics.two_samples(a, 2 * a)
    assert twice.ratio.value == pytest.approx(2)
    assert twice.ratio.low < 2 < twice.ratio.high
    assert twice.superiority == 1
    assert twice.p_mann_whitney < 0.01 and twice.p_permutation < 0.01
    single = statistics.two_samples(a[:1], a[:2])
    assert single.ratio is None and single.p_mann_whitney is None
