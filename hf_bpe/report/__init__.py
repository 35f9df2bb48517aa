"""How well tokenizers fit texts: figures, tables and pictures of one (`report`), or of several (`compare`).

>>> from hf_bpe import train
>>> from hf_bpe.report import report
>>> found = report(train(["low low lower lowest"], vocab_size=259), ["low lowest"])
>>> found.total.bytes_per_token, found.total.tokens_per_word
(2.0, 2.5)

`print(found)` prints tables, `found.as_json()` returns all of it, and `found.to_html("report.html")` writes a page with
pictures. What each figure means is in `docs/report.md`.
"""

from hf_bpe.report.doors import compare, report
from hf_bpe.report.figures import Figures
from hf_bpe.report.ladder import Ladder
from hf_bpe.report.results import Comparison, OnlyIn, Report, Token

__all__ = ["Comparison", "Figures", "Ladder", "OnlyIn", "Report", "Token", "compare", "report"]
