"""An option of token files is defined once: one that is added to `TokenFileOptions` arrives at every entry point."""

from dataclasses import fields

from hf_bpe.token_files import _options
from support.extra_option import check_with_made_up

MADE_UP = """
from hf_bpe import BPETokenizer
from hf_bpe.distributed import ArrowEncoder
from hf_bpe.token_files import _job

seen, make_job, text, output = [], _job.make_job, folder / "text.txt", folder / "out.npy"
_job.make_job = lambda *given: seen.append(given[3].made_up) or make_job(*given)
text.write_text("low")
tokenizer = BPETokenizer.train(["low"], 257, special_tokens=["<|endoftext|>"], eos_token="<|endoftext|>")
tokenizer.save_pretrained(folder / "trained")

assert default_of(BPETokenizer.encode_files) == default_of(ArrowEncoder) == 3
assert "made_up: make it up. Or not.\\n" in BPETokenizer.encode_files.__doc__
assert "made_up: expected" in refused(tokenizer.encode_files, text, output, made_up=0)
assert "made_up: expected" in refused(ArrowEncoder, tokenizer, made_up=0)
tokenizer.encode_files(text, output, made_up=7)
tokenizer.encode_files(text, output)
run("encode-files", folder / "trained", text, "-o", output, "--made-up", 12, "--force")
assert seen == [7, 3, 12]
shown = run("encode-files", "--help")
assert "--made-up N" in shown and "Make it up." in shown
"""


def test_made_up_option_arrives_at_every_entry_point(tmp_path):
    check_with_made_up(MADE_UP, tmp_path, "TextOptions", "TokenFileOptions")


def test_typed_names_are_those_of_the_options():
    for name in ("Text", "TokenFile"):
        options, keywords = (getattr(_options, name + kind) for kind in ("Options", "Keywords"))
        assert {*keywords.__annotations__} == {field.name for field in fields(options)}
