"""What needs no network and no second process: python -m unittest discover trainer/tests"""

import tempfile
import unittest
from pathlib import Path

import torch

from millrace_trainer import files
from millrace_trainer.batches import deal
from millrace_trainer.book import Book, Refused
from millrace_trainer.losses import LOSSES, Bounds, Targets
from millrace_trainer.network import Shape


class Deal(unittest.TestCase):
    def test_every_sequence_is_computed_once_and_ranks_make_as_many_passes(self) -> None:
        lengths = [24, 17, 30, 12, 1, 1, 90, 8, 8]
        for ranks in (1, 2, 3, 8):
            for tokens_max in (1, 40, 64, 1000):
                rounds = deal(lengths, ranks, tokens_max)
                parts = [part for each in rounds for part in each]
                self.assertTrue(all(len(each) == ranks for each in rounds))
                self.assertEqual(sorted(index for part in parts for index in part), list(range(len(lengths))))
                for part in parts:
                    padded = max((lengths[index] for index in part), default=0) * len(part)
                    self.assertTrue(len(part) <= 1 or padded <= tokens_max)

    def test_two_ranks_share_what_one_could_do_alone(self) -> None:
        self.assertEqual(deal([10, 10, 10, 10], 2, 1000), [[[0, 1], [2, 3]]])


class Losses(unittest.TestCase):
    def slopes(self, name: str, advantage: float, ratio: float) -> float:
        now = torch.tensor([-1.0], requires_grad=True)
        old = now.detach() - torch.tensor([ratio]).log()
        given = Targets(torch.tensor([0.5]), torch.tensor([advantage]), old)
        LOSSES[name](now, given, Bounds()).sum().backward()
        assert now.grad is not None
        return now.grad.item()

    def test_slopes_are_those_of_the_wire(self) -> None:
        self.assertAlmostEqual(self.slopes("cross_entropy", 2, 1.5), -0.5)
        self.assertAlmostEqual(self.slopes("importance_sampling", 2, 1.5), -1.5, places=5)
        self.assertAlmostEqual(self.slopes("ppo", 2, 1.5), 0)
        self.assertAlmostEqual(self.slopes("ppo", -2, 1.5), 1.5, places=5)
        self.assertAlmostEqual(self.slopes("cispo", 2, 1.5), -1.2, places=5)


class OneJob(unittest.TestCase):
    def test_a_second_job_waits_until_the_first_is_over_or_silent(self) -> None:
        shape = Shape(rank=8, alpha=32)
        book = Book(models_max=1, silent_seconds=1000)
        first, second = book.open_session(), book.open_session()
        held = book.add(first, shape, 0)
        for session, said in ((first, "Maximum number of models"), (second, "one job at a time")):
            with self.assertRaisesRegex(Refused, said):
                book.check_room(session, shape)
        self.assertEqual(book.fallen_silent(second), [])
        book.sessions[first] -= 2000
        self.assertEqual(book.fallen_silent(second), [held.id])

    def test_a_number_stands_for_one_request(self) -> None:
        book = Book(models_max=1, silent_seconds=1)
        held = book.add(book.open_session(), Shape(rank=8, alpha=32), 0)
        held.numbers[3] = ("digest", "future")
        self.assertEqual(book.known(held, 3, "digest"), "future")
        self.assertIsNone(book.known(held, 4, "digest"))
        with self.assertRaises(Refused):
            book.known(held, 3, "another")


class Whole(unittest.TestCase):
    def test_a_folder_is_there_whole_or_not_at_all(self) -> None:
        with tempfile.TemporaryDirectory() as root:
            folder = Path(root) / "run-1" / files.STATES / "one"
            with self.assertRaises(ValueError), files.whole(folder, True, lambda: None) as partial:
                (partial / "a").write_text("half")
                raise ValueError
            self.assertFalse(folder.exists())
            files.sweep(Path(root))
            self.assertEqual(list(folder.parent.iterdir()), [])
            with files.whole(folder, True, lambda: None) as partial:
                (partial / "a").write_text("all")
            self.assertEqual((folder / "a").read_text(), "all")

    def test_addresses_lead_nowhere_else(self) -> None:
        for uri in ("tinker://../weights/a", "tinker://a/weights/../b", "tinker://a/other/b", "/etc/passwd"):
            self.assertIsNone(files.folder_at(Path("/c"), uri))
        self.assertEqual(files.folder_at(Path("/c"), "tinker://a/weights/b"), Path("/c/a/weights/b"))


if __name__ == "__main__":
    unittest.main()
