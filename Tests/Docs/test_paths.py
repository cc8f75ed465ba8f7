"""A newcomer finds what the documents name: each file, folder and function is there."""

import unittest

import paths


class PathTests(unittest.TestCase):
    def test_every_file_folder_and_function_that_a_document_names_is_there(self):
        for document in paths.documents():
            with self.subTest(document=document.relative_to(paths.ROOT).as_posix()):
                self.assertEqual(paths.mistakes(document.read_text()), [])

    def test_what_is_there_is_taken(self):
        for words in [
            "`FeedCore.swift`", "`FeedCore/FeedCore.swift`", "`Tests/Soak`", "`ops/nginx/gateway.conf`", "`FeedCore.step`", "`FeedCore+Demand.pause`",
            "`FeedCore.pause`", "`FeedCore+Demand.swift: pause, resume`", "`EventFormat.swift: body, end`", "`FeedInput.swift: refetch`", "`Dialects/BUX/`",
            "`connection.js: reconcile, serve`", "`court.py: take`", "`FeedEngine.init`", "`Freshness.Outage`",
            "`EventSource.CLOSED`", "`GET /streams`", "`text/html`", "`shim.h: cmhd_name_thread`",
        ]:
            with self.subTest(words=words):
                self.assertEqual(paths.mistakes(words), [])

    def test_what_is_missing_is_found(self):
        for words in [
            "`FeedHeart.swift`", "FeedHeart.swift", "`FeedHeart/FeedCore.swift`", "`Tests/Soap`", "`ops/nginx/gateways.conf`", "`FeedCore.stride`",
            "`FeedCore+Demand.rotate`", "`FeedCore+Wishes.pause`", "`FeedCore+Demand.swift: pause, rotate`", "`EventFormat.swift: bodies`", "`Dialects/BUY/`",
            "`client.js: StreamContents`", "`EventHub.sweep`", "`EvenHub.receive`",
        ]:
            with self.subTest(words=words):
                self.assertNotEqual(paths.mistakes(words), [])

    def test_a_call_is_no_declaration(self):
        self.assertNotEqual(paths.mistakes("`EventHub.swift: words`"), [])


if __name__ == "__main__":
    unittest.main()
