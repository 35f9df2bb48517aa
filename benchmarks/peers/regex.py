"""The `regex` package: the plain way to split text in Python."""

from __future__ import annotations

import regex

from benchmarks.job import GPT2, Job, read_documents

DISTRIBUTION = "regex"


class Splitting:
    """`findall`."""

    entry_point = "bytes of a document, decoded in the timed part; a list of strings comes back"

    def __init__(self, job: Job) -> None:
        self.pattern = regex.compile(GPT2)
        self.documents = [document.encode() for document in read_documents(job.files)]

    def run(self) -> None:
        self.total = sum(len(self.pattern.findall(document.decode())) for document in self.documents)

    def outcome(self) -> int:
        return self.total
