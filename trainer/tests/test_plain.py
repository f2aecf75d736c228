"""What needs no network and no second process: python -m unittest discover trainer/tests"""

import os
import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace

import torch

from millrace_trainer import files
from millrace_trainer.__main__ import advice
from millrace_trainer.batches import split
from millrace_trainer.losses import LOSSES, Bounds, Targets
from millrace_trainer.network import Shape
from millrace_trainer.registry import Refused, Registry
from millrace_trainer.wire import loss_in


class SplitTest(unittest.TestCase):
    def test_every_sequence_is_computed_once_and_ranks_make_as_many_passes(self) -> None:
        lengths = [24, 17, 30, 12, 1, 1, 90, 8, 8]
        for ranks in (1, 2, 3, 8):
            for tokens_max in (1, 40, 64, 1000):
                rounds = split(lengths, ranks, tokens_max)
                parts = [part for each in rounds for part in each]
                self.assertTrue(all(len(each) == ranks for each in rounds))
                self.assertEqual(sorted(index for part in parts for index in part), list(range(len(lengths))))
                for part in parts:
                    padded = max((lengths[index] for index in part), default=0) * len(part)
                    self.assertTrue(len(part) <= 1 or padded <= tokens_max)

    def test_two_ranks_share_what_one_could_do_alone(self) -> None:
        self.assertEqual(split([10, 10, 10, 10], 2, 1000), [[[0, 1], [2, 3]]])


class Losses(unittest.TestCase):
    def slopes(self, name: str, advantage: float, ratio: float, bounds: Bounds | None = None) -> float:
        now = torch.tensor([-1.0], requires_grad=True)
        old = now.detach() - torch.tensor([ratio]).log()
        given = Targets(torch.tensor([0.5]), torch.tensor([advantage]), old)
        LOSSES[name](now, given, bounds or Bounds()).sum().backward()
        assert now.grad is not None
        return now.grad.item()

    def test_slopes_are_those_of_the_wire(self) -> None:
        self.assertAlmostEqual(self.slopes("cross_entropy", 2, 1.5), -0.5)
        self.assertAlmostEqual(self.slopes("importance_sampling", 2, 1.5), -1.5, places=5)
        self.assertAlmostEqual(self.slopes("ppo", 2, 1.5), 0)
        self.assertAlmostEqual(self.slopes("ppo", -2, 1.5), 1.5, places=5)
        self.assertAlmostEqual(self.slopes("cispo", 2, 1.5), -1.2, places=5)
        self.assertAlmostEqual(self.slopes("clipped", 2, 1.1), -1.1, places=5)
        self.assertAlmostEqual(self.slopes("clipped", 2, 1.5), 0)
        self.assertAlmostEqual(self.slopes("clipped", 2, 1.5, Bounds(keep=1.0)), -1.2, places=5)
        self.assertAlmostEqual(self.slopes("clipped", -2, 0.5), 0)
        self.assertAlmostEqual(self.slopes("clipped", -2, 1.5), 1.5, places=5)
        self.assertAlmostEqual(self.slopes("clipped", -2, 3.5), 0)

    def test_names_of_settings_are_those_of_their_loss(self) -> None:
        config = {"clip_high_threshold": 1.3, "clip_dual": 4, "keep_clipped": 1}
        name, bounds = loss_in({"loss_fn": "clipped", "loss_fn_config": config})
        self.assertEqual((name, bounds), ("clipped", Bounds(high=1.3, dual=4.0, keep=1.0)))
        with self.assertRaisesRegex(Refused, "cispo does not take clip_dual"):
            loss_in({"loss_fn": "cispo", "loss_fn_config": {"clip_dual": 4}})


class OneJob(unittest.TestCase):
    def test_a_second_job_waits_until_the_first_is_over_or_silent(self) -> None:
        shape = Shape(rank=8, alpha=32)
        registry = Registry(models_max=1, silent_seconds=1000)
        first, second = registry.open_session(), registry.open_session()
        model = registry.add(first, shape, 0)
        for session, said in ((first, "Maximum number of models"), (second, "one job at a time")):
            with self.assertRaisesRegex(Refused, said):
                registry.check_room(session, shape)
        self.assertEqual(registry.abandoned(second), [])
        registry.sessions[first] -= 2000
        self.assertEqual(registry.abandoned(second), [model])

    def test_a_number_stands_for_one_request(self) -> None:
        registry = Registry(models_max=1, silent_seconds=1)
        model = registry.add(registry.open_session(), Shape(rank=8, alpha=32), 0)
        model.requests[3] = ("digest", "future")
        self.assertEqual(registry.previous(model, 3, "digest"), "future")
        self.assertIsNone(registry.previous(model, 4, "digest"))
        with self.assertRaises(Refused):
            registry.previous(model, 3, "another")


class OutOfMemory(unittest.TestCase):
    def test_the_error_says_what_to_do(self) -> None:
        chosen = SimpleNamespace(micro_batch_tokens=512, gradient_checkpointing=False)
        for error in (
            torch.OutOfMemoryError("CUDA out of memory"),
            RuntimeError("you can't allocate memory"),
        ):
            self.assertIn("--micro-batch-tokens below 512, with --grad", advice(error, chosen))
        self.assertEqual(advice(ValueError("other"), chosen), "")


class Whole(unittest.TestCase):
    def test_a_folder_is_there_whole_or_not_at_all(self) -> None:
        with tempfile.TemporaryDirectory() as root:
            folder = Path(root) / "run-1" / files.STATES / "one"
            with self.assertRaises(ValueError), files.atomic_folder(folder, True, lambda: None) as partial:
                (partial / "a").write_text("half")
                raise ValueError
            self.assertFalse(folder.exists())
            files.remove_partial(Path(root))
            self.assertEqual(list(folder.parent.iterdir()), [])
            with files.atomic_folder(folder, True, lambda: None) as partial:
                (partial / "a").write_text("all")
            self.assertEqual((folder / "a").read_text(), "all")

    def test_the_newest_states_and_loaded_ones_stay(self) -> None:
        with tempfile.TemporaryDirectory() as root:
            for age, name in enumerate(("d", "c", "b", "a")):
                folder = Path(root) / name
                folder.mkdir()
                (folder / files.ABOUT).touch()
                os.utime(folder / files.ABOUT, ns=(age, age))
            files.pin(Path(root) / "d")
            files.remove_old(Path(root), 0)
            self.assertEqual(len(list(Path(root).iterdir())), 4)
            files.remove_old(Path(root), 1)
            self.assertEqual(sorted(path.name for path in Path(root).iterdir()), ["a", "d"])

    def test_addresses_lead_nowhere_else(self) -> None:
        for uri in ("tinker://../weights/a", "tinker://a/weights/../b", "tinker://a/other/b", "/etc/passwd"):
            self.assertIsNone(files.folder_at(Path("/c"), uri))
        self.assertEqual(files.folder_at(Path("/c"), "tinker://a/weights/b"), Path("/c/a/weights/b"))


if __name__ == "__main__":
    unittest.main()
