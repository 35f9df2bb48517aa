"""Remap the embeddings of a transformers model after an edit of its tokenizer.

Needs torch: `pip install 'hf_bpe[torch]'`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from hf_bpe._utils.arguments import check_int, short_repr
from hf_bpe.editing._remap import Remap

__all__ = ["remap_embeddings"]

try:
    import torch
except ImportError as error:
    raise ImportError("remapping embeddings needs torch: pip install 'hf_bpe[torch]'") from error

logger = logging.getLogger(__name__)

# Settings of generation that hold ids or lists of ids, besides those named `…_token_id`.
_ID_LISTS = ("suppress_tokens", "begin_suppress_tokens", "bad_words_ids")
_ID_SUFFIXES = ("_token_id", "_token_ids", "_token_index")


def remap_embeddings(model: Any, remap: Remap, *, pad_to_multiple_of: int = 1) -> None:
    """Resize and reorder the embeddings of a transformers model in place for an edited tokenizer.

    Input and output embeddings, tied or not, and the bias of the output get the rows of the kept tokens at their new
    ids, so text whose tokens were all kept has the same logits for these. The row of a new token is the mean of the
    rows of its sources, or of all old tokens where it has none; so is a row without a token. The ids in
    `model.config` and `model.generation_config` (`eos_token_id`, …) and the padding index become the new ones; an id
    without an old token stays. Type, device and `requires_grad` stay; gradients are dropped, and optimizers must be
    created again.

    Args:
        model: a `PreTrainedModel`.
        remap: the remap from the model's tokenizer to the new one. For a BPETokenizer it is the one that
            `BPETokenizer.with_model` returns, which includes added tokens. Rows of ids that it does not know are
            dropped.
        pad_to_multiple_of: add rows until their number is a multiple of this.

    Raises:
        ValueError: the embeddings are not a table of rows, there are fewer rows than tokens, the token of an id in the
            configuration was removed, or a padding token would move although positions are counted from its id. The
            model is then unchanged.

    >>> from transformers import GPT2Config, GPT2LMHeadModel
    >>> model = GPT2LMHeadModel(GPT2Config(vocab_size=3, n_embd=4, n_head=1, n_layer=1, n_positions=8))
    >>> last = model.get_input_embeddings().weight[2].tolist()
    >>> remap_embeddings(model, Remap({0: 0, 2: 1}, {}, [1]))
    >>> model.config.vocab_size, model.get_input_embeddings().weight[1].tolist() == last
    (2, True)
    """
    check_int("pad_to_multiple_of", pad_to_multiple_of, 1)
    if not isinstance(remap, Remap):
        raise TypeError(
            f"remap: expected a Remap, the second value that extend, prune and truncate return, got {short_repr(remap)}"
        )
    inputs, outputs = model.get_input_embeddings(), model.get_output_embeddings()
    rows = _rows(inputs)
    tables = {"input": inputs.weight}
    if outputs is not None and outputs.weight is not inputs.weight:
        tables["output"] = outputs.weight
    for name in ("bias", "final_logits_bias"):
        table = getattr(outputs if name == "bias" else model, name, None)
        if table is not None:
            tables[name] = table.transpose(0, -1)
    for name, table in tables.items():
        if table.shape[0] != rows:
            raise ValueError(f"{name} embeddings: expected {rows} rows like the input embeddings, got {len(table)}")
    if (highest := max(remap.old_ids, default=-1)) >= rows:
        raise ValueError(
            f"the model has {rows} rows, but the old tokenizer has an id {highest}; use the remap of its tokenizer"
        )
    changes = [*_changed_ids(model, remap, rows)]
    lost = rows - len(remap.old_ids)
    if lost and (remap.removed or remap.moves):
        logger.info("%d rows of the embeddings belong to no token of the old tokenizer and are dropped", lost)

    size = max(remap.sources, default=-1) + 1
    size += -size % pad_to_multiple_of
    made = {name: _remapped(table.detach(), remap, size) for name, table in tables.items()}
    model.resize_token_embeddings(size, mean_resizing=False)  # it also resizes the other tables that a model may have
    inputs, outputs = model.get_input_embeddings(), model.get_output_embeddings()
    _set(inputs.weight, made["input"])
    if "output" in made:
        _set(outputs.weight, made["output"])
    if "bias" in made:
        _set(outputs.bias, made["bias"])
    if "final_logits_bias" in made:
        _set(model.final_logits_bias, made["final_logits_bias"].transpose(0, -1))
    for change in changes:
        change()


def _rows(inputs: object) -> int:
    weight = getattr(inputs, "weight", None)
    if weight is None or weight.dim() != 2:
        raise ValueError(f"input embeddings: expected a table of one row per token, got {type(inputs).__name__}")
    return int(weight.shape[0])


def _remapped(table: torch.Tensor, remap: Remap, size: int) -> torch.Tensor:
    """Return a table with its rows in the new order."""
    old = torch.tensor(sorted(remap.old_ids), dtype=torch.long, device=table.device)
    mean = table[old].to(torch.float32).mean(0) if len(old) else torch.zeros(table.shape[1:], device=table.device)
    new = mean.to(table.dtype).expand(size, *table.shape[1:]).clone()
    if remap.new_ids:
        olds, news = (torch.tensor([*ids], device=table.device) for ids in (remap.new_ids, remap.new_ids.values()))
        new[news] = table[olds]
    for token_id, sources in remap.added.items():
        if sources:
            new[token_id] = table[torch.tensor(sources, device=table.device)].to(torch.float32).mean(0).to(table.dtype)
    return new


def _set(parameter: Any, value: torch.Tensor) -> None:
    parameter.data = value
    parameter.grad = None


def _changed_ids(model: Any, remap: Remap, rows: int) -> Iterator[Callable[[], None]]:
    """Yield functions that set the ids in a model's configuration and modules to the new ids, or raise a ValueError."""

    def new_id(old: object, name: str) -> Any:
        if isinstance(old, (list, tuple)):
            return type(old)(new_id(each, name) for each in old)
        if not isinstance(old, int) or isinstance(old, bool) or not 0 <= old < rows:
            return old
        if old not in remap.new_ids:
            reason = "was removed" if old in remap.removed else "is not in the old tokenizer of the remap"
            raise ValueError(f"{name} is {old}, and the token of this id {reason}; keep it, or change {name} first")
        return remap.new_ids[old]

    for where, owner in _settings(model):
        for name, value in vars(owner).items():
            if value is not None and (name.endswith(_ID_SUFFIXES) or name in _ID_LISTS):
                yield partial(setattr, owner, name, new_id(value, f"{where}.{name}"))
    inputs = model.get_input_embeddings()
    for name, module in model.named_modules():
        index = getattr(module, "padding_idx", None)
        if isinstance(index, int):
            new_index = new_id(index, f"{name}.padding_idx")
            is_other_table = isinstance(module, torch.nn.Embedding) and module.weight is not inputs.weight
            if is_other_table and new_index != index:
                raise ValueError(
                    f"{name} counts from the id of padding, {index}, which would become {new_index}; the edit must "
                    "leave that id as it is"
                )
            yield partial(setattr, module, "padding_idx", new_index)


def _settings(model: Any) -> Iterator[tuple[str, Any]]:
    """Yield each object that holds settings of a model once, and its name."""
    seen: set[int] = set()
    waiting = [("config", model.config), ("generation_config", getattr(model, "generation_config", None))]
    while waiting:
        name, owner = waiting.pop(0)
        if owner is not None and id(owner) not in seen:
            seen.add(id(owner))
            yield name, owner
            nested = ((key, value) for key, value in vars(owner).items() if hasattr(value, "get_text_config"))
            waiting += [(f"{name}.{key}", value) for key, value in nested]
