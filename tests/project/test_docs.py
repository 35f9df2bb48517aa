"""The README and the examples are executed, and print what they show."""

import doctest
import importlib.util
import json
import os
import pickle
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
import transformers
import typer.main
from fsspec import config as fsspec_config
from huggingface_hub import ModelCard

import hf_bpe
from hf_bpe.cli import app
from hf_bpe.conversion import write_gpt2
from support.cases import case
from support.commands import run
from support.profiles import by_profile, scaled, thorough
from support.servers.s3_server import s3_server
from support.upstream.transformers_features import HAS_SANITIZING, needs_class_of_its_own

ROOT = Path(__file__).parent.parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
PICTURES = ROOT / "docs" / "pictures"
PAGES = sorted(path.relative_to(ROOT) for path in (ROOT / "docs").rglob("*.md") if path.parent != PICTURES)
# What a block of the pages may need; it says so after the language.
OPTIONAL = ("accelerate", "apache_beam", "dask", "datasets", "moto", "peft", "ray", "s3fs", "torch", "trl")
FEATURES = {"sanitize_control_tokens": HAS_SANITIZING}  # of transformers


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


def run_session(code, name, namespace):
    """Run an interactive session; return how many of its examples ran, and what went otherwise than it shows."""
    test = doctest.DocTestParser().get_doctest(code, {}, name, name, 0)
    test.globs, report = namespace, []
    results = doctest.DocTestRunner().run(test, out=report.append, clear_globs=False)
    return results.attempted, "".join(report)


def run_example(name, *arguments):
    command = [sys.executable, str(ROOT / "examples" / name), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=True).stdout


@pytest.fixture
def clone(tmp_path, monkeypatch):
    """Return a folder with what the README uses of a clone, which is the current one, without any extra."""
    monkeypatch.chdir(tmp_path)
    for extra in ("gguf", "pyarrow", "zstandard"):
        monkeypatch.setitem(sys.modules, extra, None)
    monkeypatch.setattr(hf_bpe.BPETokenizer, "_registered_for_auto_class", False)  # which it is until the test ends
    for name in ("README.md", "examples", "docs/how-to"):
        (shutil.copytree if (ROOT / name).is_dir() else shutil.copy)(ROOT / name, tmp_path / name)
    return tmp_path


def test_blocks_of_the_readme_run_in_order_as_for_a_person(clone):
    namespace, languages = {}, []
    for language, code in re.findall(r"^```(\w+)\n(.*?)^```", README, re.MULTILINE | re.DOTALL):
        languages.append(language)
        if language == "sh" and "examples/" in code:
            _, command = code.strip().split(" && ")
            assert "loaded as BPETokenizer" in run_in_shell(command, clone)
        elif language == "pycon":
            attempted, failures = run_session(code, "README.md", namespace)
            assert attempted
            assert not failures, failures
        elif language == "python":
            exec(compile(code, "README.md", "exec"), namespace)
    assert languages == ["sh", "pycon", "pycon", "pycon", "python", "sh"]
    assert run("encode-files", "my-tokenizer", "README.md", "-o", "more-tokens.npy", "-q")
    assert np.array_equal(np.load("tokens.npy"), np.load("more-tokens.npy"))
    trained, converted = (hf_bpe.BPETokenizer.convert_from(name) for name in ("my-tokenizer", "my.tiktoken"))
    assert trained.model == converted.model


def test_commands_of_the_table_of_the_readme_run(clone):
    for name in ("my-tokenizer", "Qwen/Qwen3-0.6B"):
        size = 300 + len(name)
        hf_bpe.BPETokenizer.train("README.md", size, special_tokens=["<|endoftext|>"]).save_pretrained(name)
    commands = re.findall(r"^\| [^|]+ \| `([^`]+)` \|$", README.replace(r"\|", "|"), re.MULTILINE)
    assert len(commands) >= 10
    for command in commands:
        program, name, *arguments = shlex.split(command)
        if program == "hf-bpe" and name != "playground":  # which serves until it is stopped
            run(name, *arguments)
    assert {"HF_BPE_ACCELERATE=1 vllm serve my-model", "hf-bpe playground my-tokenizer"} <= {*commands}
    assert Path("train.bin").stat().st_size > 1000


class Hub:
    """The Hub, as far as push_to_hub calls it: it remembers what it is given."""

    def __init__(self):
        self.commits = {}

    def create_repo(self, repo_id, **_):
        return SimpleNamespace(repo_id=repo_id)

    def create_commit(self, repo_id, operations, **_):
        self.commits[repo_id] = {operation.path_in_repo for operation in operations}


@pytest.fixture(autouse=True)
def small_process(monkeypatch):
    """Let examples bound their memory however much other tests have left this process with."""
    monkeypatch.setattr("hf_bpe.counting._count.resident_bytes", lambda: 1 << 28)


@pytest.fixture
def hub(monkeypatch):
    if not hasattr(transformers.utils.hub, "hf_api"):
        pytest.skip(f"transformers {transformers.__version__} has no hf_api in whose place to put another")
    hub = Hub()
    monkeypatch.setattr(transformers.utils.hub, "hf_api", lambda: hub)
    monkeypatch.setattr(transformers.utils.hub, "create_and_tag_model_card", lambda *_, **__: ModelCard("---\n---\n"))
    monkeypatch.setattr(hf_bpe.BPETokenizer, "_registered_for_auto_class", False)  # so that it is restored afterwards
    return hub


def run_in_shell(line, folder, stdin=""):
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])  # where hf-bpe is installed
    environment = {**os.environ, "PATH": path}
    ran = subprocess.run(
        line, shell=True, cwd=folder, env=environment, input=stdin, capture_output=True, encoding="utf-8", check=True
    )
    return ran.stdout


def run_line(line, folder):
    """Run a command in a shell, but `hf-bpe` at its beginning in this process, where nothing is imported again."""
    command, rest = re.fullmatch(r"((?:'[^']*'|[^'|>])*?) *([|>].*)?", line).groups()
    if not command.startswith("hf-bpe ") or re.search(r"[<&;$*?]", re.sub(r"'[^']*'", "", line)):
        return run_in_shell(line, folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        printed = run(*shlex.split(command)[1:]).stdout
    return run_in_shell(f"cat {rest}", folder, printed) if rest else printed


def run_console(text, folder):
    """Run the commands of a shell session, each of which must print the lines below it."""
    for line, expected in re.findall(r"^\$ (.*)\n((?:[^$].*\n)*)", text, re.MULTILINE):
        assert run_line(line, folder).strip() == expected.strip(), line


def run_array_job(script, folder):
    """Run the script of an array of jobs for three of them, one of them twice, with what Slurm tells a job."""
    (folder / "job.sh").write_text(script, encoding="utf-8")
    for number in (2, 0, 1, 0):
        run_console(f"$ SLURM_ARRAY_TASK_ID={number} SLURM_CPUS_PER_TASK=2 bash job.sh 3\n", folder)


class Spark:
    """What the page calls of Spark: values go from step to step pickled, and are reduced in an order of its own."""

    def __init__(self, values=()):
        self.values = values
        self.sparkContext = self

    def parallelize(self, values, number):
        assert number == len(values)
        return Spark(pickle.loads(pickle.dumps(values)))

    def map(self, function):
        return Spark([pickle.loads(pickle.dumps(function(value))) for value in self.values])

    def treeReduce(self, function, depth):
        values = [*self.values]
        while len(values) > 1:
            values.append(function(values.pop(), values.pop(0)))
        return values[0]


@pytest.fixture
def spark(monkeypatch):
    session = SimpleNamespace(builder=SimpleNamespace(getOrCreate=Spark))
    monkeypatch.setitem(sys.modules, "pyspark", ModuleType("pyspark"))
    monkeypatch.setitem(sys.modules, "pyspark.sql", SimpleNamespace(SparkSession=session))


def blocks_of(page):
    """Return language, needs and code of the blocks of a page, and all that they need."""
    fences = re.findall(r"^```(\w+)([^\n]*)\n(.*?)^```$", (ROOT / page).read_text("utf-8"), re.MULTILINE | re.DOTALL)
    return fences, {word for _, needed, _ in fences for word in needed.split()} - {"slurm", "spark"}


@pytest.fixture
def bucket(request, monkeypatch):
    """Have commands and blocks find a bucket with some JSON lines, if the page of the test needs one."""
    given = request.node.callspec.params
    if not given["has_all"] or "s3fs" not in blocks_of(given["page"])[1]:
        yield
        return
    for name in ("moto", "s3fs", "werkzeug", "boto3"):
        pytest.importorskip(name, reason="blocks of the page need a server of S3")
    import s3fs

    with s3_server() as (_, options):
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", options["key"])
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", options["secret"])
        monkeypatch.setenv("FSSPEC_S3_ENDPOINT_URL", options["endpoint_url"])
        monkeypatch.setitem(fsspec_config.conf, "s3", {"endpoint_url": options["endpoint_url"]})
        store = s3fs.S3FileSystem(**options)
        store.mkdir("corpora")
        for number, first in enumerate(("The lowest of the low.", "Newer 1.", "Newer 2.")):
            lines = [json.dumps({"text": text}) for text in (first, "Low and newest.")]
            store.pipe(f"corpora/text/{number}.jsonl", "\n".join(lines).encode())
        yield
        s3fs.S3FileSystem.clear_instance_cache()


@scaled
@pytest.mark.parametrize(
    ("page", "has_all"),
    [(page, has_all) for page in PAGES for has_all in (False, True) if not has_all or blocks_of(page)[1]],
    ids=lambda value: {False: "what hf_bpe brings", True: "everything"}.get(value, str(value)),
)
def test_blocks_of_a_page_run_in_order_and_print_what_they_show(
    page, has_all, tmp_path, monkeypatch, hub, spark, bucket
):
    fences, words = blocks_of(page)
    assert words <= {*OPTIONAL, *FEATURES}
    for name in sorted(words) if has_all else ():
        if name not in FEATURES:
            pytest.importorskip(name, reason=f"blocks of {page} need {name}")
        elif not FEATURES[name]:
            pytest.skip(f"transformers {transformers.__version__} has no {name}")
    needed = words - FEATURES.keys()
    if needed and not has_all and by_profile(quick=all(map(importlib.util.find_spec, needed)), thorough=False):
        pytest.skip("all that the blocks need is installed, so all of them run")
    text = "".join(code for _, _, code in fences)
    for program in ("cmp", "sed"):  # the programs that come with neither a shell nor coreutils
        if shutil.which(program) is None and re.search(rf"^\$ (.*\| )?{program} ", text, re.MULTILINE):
            pytest.skip(f"blocks of {page} need the program {program}")
    monkeypatch.chdir(tmp_path)
    write_gpt2(hf_bpe.train(["low lower lowest"], vocab_size=262, special_tokens=["<|endoftext|>"]), "gpt2")
    hf_bpe.BPETokenizer.train(["low lower lowest"], 260, pattern="cl100k").convert_to("cl100k_base.tiktoken")
    Path("cl100k_base.tiktoken.json").unlink()
    Path("book.txt").write_text("lower, lowest", encoding="utf-8")
    module = ModuleType("page")
    monkeypatch.setitem(sys.modules, "page", module)
    for language, needed, code in fences:
        if words.intersection(needed.split()) and not has_all:
            continue
        if language == "pycon":
            _, failures = run_session(code, str(page), vars(module))
            assert not failures, failures
        elif language == "console":
            run_console(code, tmp_path)
        elif language == "sh":
            run_array_job(code, tmp_path)
        else:
            assert language == "python"
            exec(compile(code, page, "exec"), vars(module))
    if page.name == "use-with-transformers.md":
        pushed = {"README.md", "added_tokens.json", "vocab.json", "merges.txt", "chat_template.jinja"}
        pushed |= {"tokenizer.json", "tokenizer_config.json"}
        assert hub.commits == {"my-name/my-tokenizer": pushed}
    elif page.name == "at-any-scale.md":
        assert (tmp_path / "cluster-tokenizer" / "tokenizer.json").exists()


LOAD_BESIDE_EACH = """
import json, sys
from pathlib import Path
if sys.argv[1] == "hf_bpe not imported":
    sys.modules["hf_bpe"] = None
else:
    import hf_bpe
from transformers import AutoTokenizer
from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES

loaded = {}
for model_type in {*sys.argv[2:], *CONFIG_MAPPING_NAMES}:
    Path("config.json").write_text(json.dumps({"model_type": model_type}))
    try:
        tokenizer = AutoTokenizer.from_pretrained(".")
    except Exception:  # no such config.json can be read
        continue
    loaded[model_type] = type(tokenizer).__name__, tokenizer.encode("2024")
print(json.dumps(loaded))
"""


@thorough
@needs_class_of_its_own("qwen4_exp")  # the table is that of the releases that have it
@pytest.mark.parametrize("column", [1, 2], ids=["hf_bpe imported", "hf_bpe not imported"])
def test_auto_tokenizer_matches_the_table_for_each_config(tmp_path, column):
    page = (ROOT / "docs" / "how-to" / "use-with-transformers.md").read_text("utf-8")
    header, _, *rows = [row.strip("|").split("|") for row in re.findall(r"^\|.*\|$", page, re.MULTILINE)]
    said = {name: row[column].strip() for row in rows for name in re.findall(r"`(\w+)`", row[0])}
    tokenizer = hf_bpe.BPETokenizer.train(["2024"], num_merges=3)
    assert tokenizer.encode("2024") == [258]
    tokenizer.save_pretrained(tmp_path)
    command = [sys.executable, "-c", LOAD_BESIDE_EACH, header[column].strip(), *said]
    environment = {**os.environ, "HF_HUB_OFFLINE": "1"}
    ran = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    says = {
        "`BPETokenizer`": lambda name, ids: name == "BPETokenizer" and ids == [258],
        "a fast tokenizer, same ids": lambda name, ids: name == "TokenizersBackend" and ids == [258],
        "**another class, wrong ids**": lambda _, ids: ids != [258],
    }
    loaded = json.loads(ran.stdout)
    assert len(loaded) > 800
    assert [name for name in said if not says[said[name]](*loaded[name])] == []
    # What the table does not name is as the rows and the sentence below the table say.
    wrong = {name for name, (_, ids) in loaded.items() if ids != [258]}
    assert wrong == {name for name, what in said.items() if what == "**another class, wrong ids**"}
    fast = {name for name, (kind, _) in loaded.items() if kind == "TokenizersBackend"} - {*said}
    assert column == 2 or 55 <= len(fast) <= 65
    others = {name for name, (kind, _) in loaded.items() if kind not in ("BPETokenizer", "TokenizersBackend")}
    assert others - wrong == {"hyperclovax_vision_v2", "siglip2"}


FOREIGN_OPTIONS = {"--append-eod", "--data-path", "--long"}  # of Megatron and zstd


def test_commands_and_options_of_the_pages_exist():
    program = typer.main.get_command(app)
    options = {
        name: {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
        for name, command in program.commands.items()
    }
    common = {option for parameter in program.params for option in parameter.opts} | {"--help", "-h"}
    shown = []
    for page in [Path("README.md"), *PAGES]:
        text = (ROOT / page).read_text("utf-8")
        code = re.findall(r"^\$ (hf-bpe .*)$", text, re.MULTILINE) + re.findall(
            r"`((?:hf-bpe |--?[a-z])[^`\n]*)`", text
        )
        for line in code:
            name = line.split()[1] if line.startswith("hf-bpe ") else "COMMAND"
            assert name in options or name == "COMMAND" or name in common, f"{page}: {line}"
            known = options.get(name, set().union(*options.values())) | common | FOREIGN_OPTIONS
            found = {*re.findall(r"(?<![\w-])--?[a-z][a-z-]*", re.split(r" [|>] ", line)[0])}
            assert found <= known, f"{page}: {line}"
            shown += found
    assert {"--vocab-size", "--download", "-q"} <= {*shown}


def test_ci_runs_the_two_commands_of_the_readme():
    commands = [block.strip() for block in blocks("sh")]
    assert len(commands) == 2
    lines = (ROOT / "tools" / "stages.sh").read_text(encoding="utf-8").splitlines()
    assert all(command in [line.strip().removesuffix(" || return") for line in lines] for command in commands)
    assert " readme " in (ROOT / ".ci" / "run").read_text(encoding="utf-8")  # the stage that has them


@thorough
def test_help_of_examples_needs_no_torch():
    listed = (ROOT / "examples" / "README.md").read_text("utf-8")
    for path in (ROOT / "examples").glob("*.py"):
        with case(path.name):
            code = f"import sys, runpy; sys.modules['torch'] = None; runpy.run_path({str(path)!r}, {{}}, '__main__')"
            printed = run_in_shell(shlex.join([sys.executable, "-c", code, "--help"]), ROOT)
            assert path.read_text("utf-8").split('"""')[1].splitlines()[0] in printed
            assert f"({path.name})" in listed


# The call of an example → the packages that it needs, and what it prints.
EXAMPLES = {
    "train_and_load.py README.md FOLDER": (
        (),
        r"loaded as BPETokenizer.*decoded: The tokenizer trains, encodes and decodes. 你好 👋<\|endoftext\|>",
    ),
    "remove_drift.py": (
        ("torch",),
        r"^without a mask: 4 of 4 samples drift[^\n]*\nwith allowed_next: 0 of 4 samples drift; "
        r"0 ids fewer after encoding again$",
    ),
    "compare_superwords.py": ((), r"^plain BPE:[^\n]*\nSuperBPE:[^\n]*$"),
    "train_tiny_gpt2.py README.md FOLDER": (
        ("torch", "accelerate"),
        "BPETokenizer from the checkpoint: ['\"]The tokenizer",
    ),
}


@thorough
@pytest.mark.parametrize("call", EXAMPLES)
def test_example_prints_what_it_promises(tmp_path, call):
    packages, printed = EXAMPLES[call]
    for package in packages:
        pytest.importorskip(package, reason=f"the example needs {package}")
    name, *arguments = call.split()
    places = {"README.md": ROOT / "README.md", "FOLDER": tmp_path}
    places["algorithm.md"] = ROOT / "docs" / "explanation" / "algorithm.md"
    assert re.search(printed, run_example(name, *map(places.get, arguments)).strip(), re.DOTALL)


@thorough
def test_example_stream_packed():
    pytest.importorskip("torch", reason="training a model needs torch")
    begin, end = map(
        float, re.search(r"^20 steps, loss (\S+) to (\S+)$", run_example("stream_packed.py"), re.MULTILINE).groups()
    )
    assert end < begin


@thorough
def test_example_add_domain_words(tmp_path):
    pytest.importorskip("torch", reason="a model needs torch")
    output = run_example("add_domain_words.py", "--add", 100, "--output", tmp_path / "extended")
    before, after = (int(re.search(rf"^{name}: (\d+) tokens", output, re.MULTILINE)[1]) for name in ("before", "after"))
    assert 0 < after < 0.9 * before
    assert "LlamaForCausalLM and BPETokenizer" in output
    assert len(hf_bpe.BPETokenizer.from_pretrained(tmp_path / "extended")) == 700


def test_list_of_words_of_the_guide_works_with_qwen3(test_data):
    page = (ROOT / "docs" / "how-to" / "add-domain-words.md").read_text(encoding="utf-8")
    section = page.split("## Only a list of words\n")[1].split("\n## ")[0]
    tokenizer = hf_bpe.BPETokenizer.from_pretrained(test_data / "tokenizers" / "qwen3")
    added, old = tokenizer.added_tokens_decoder, tokenizer.tokenize("Stay as you are")
    namespace = {"tokenizer": tokenizer}
    exec("".join(example.source for example in doctest.DocTestParser().get_examples(section)), namespace)
    longer, words = namespace["longer"], namespace["words"]
    assert [longer.tokenize(f" {word}") for word in words] == [[f"Ġ{word}"] for word in words]
    assert longer.tokenize("Stay as you are") == old
    assert {token_id: longer.added_tokens_decoder[token_id] for token_id in added} == added
    assert tokenizer.tokenize(" stenosis and")[1] == "stenosis"  # added as a whole word
