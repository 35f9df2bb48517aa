"""The names of hf_bpe whose place may change: every other file of this suite takes them from here."""

from typer.testing import CliRunner

from hf_bpe.cli import app
from hf_bpe.conversion import FORMATS
from hf_bpe.counting import NormalizedTexts
from hf_bpe.pretokenizers import NAMES as PATTERN_NAMES

__all__ = ["FORMATS", "PATTERN_NAMES", "NormalizedTexts", "command"]


def command(*arguments):
    """Run `hf-bpe` in this process; raise a ValueError that says what it says where it fails."""
    done = CliRunner().invoke(app, [*map(str, arguments)], prog_name="hf-bpe")
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    if done.exit_code != 0:
        raise ValueError(done.stderr.splitlines()[-1])
