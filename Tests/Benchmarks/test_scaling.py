"""The model of more fan-out threads."""

import pathlib
import sys
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "Benchmarks/bench"))
import scaling  # noqa: E402

COSTS = scaling.Costs(send=7, more=0.1, signal=2, wake=10, frame=10)


class ScalingTests(unittest.TestCase):
    def p99(self, costs, threads, rate=10, readers=10_000):
        return scaling.quantile(scaling.delays(costs, threads, rate, readers, events=100)[0], 0.99)

    def test_one_thread_takes_as_long_as_all_its_calls(self):
        late, busy = scaling.delays(COSTS, 1, 10, events=100)
        self.assertAlmostEqual(scaling.quantile(late, 1), 70, delta=2)
        self.assertAlmostEqual(busy, 0.7, delta=0.05)

    def test_threads_share_the_calls(self):
        self.assertAlmostEqual(self.p99(COSTS, 1) / self.p99(COSTS, 4), 4, delta=0.1)

    def test_friction_takes_what_was_measured(self):
        ratio = 1.2
        rubbing = scaling.Costs(send=7, more=0.1, signal=2, wake=10, frame=10, friction=scaling.friction(ratio))
        self.assertAlmostEqual(self.p99(rubbing, 2) / self.p99(COSTS, 1), ratio / 2, delta=0.02)

    def test_what_comes_meanwhile_goes_with_the_next_call(self):
        late, busy = scaling.delays(COSTS, 1, 100, events=300)
        self.assertLess(scaling.quantile(late, 0.99), 2.5 * 70)
        self.assertGreater(busy, 0.9)

    def test_the_feeds_thread_bounds_what_many_threads_send(self):
        few, many = scaling.most(COSTS, 1), scaling.most(COSTS, 16)
        self.assertAlmostEqual(many[0] / few[0], 16, delta=0.01)
        self.assertLess(many[1], few[1])


if __name__ == "__main__":
    unittest.main()
