"""What hf_bpe overrides or calls in transformers is as it was when it was written; a difference is shown.

Look at what changed, follow it, and correct the line here.
"""

import inspect

import pytest
from transformers import PreTrainedTokenizer, PreTrainedTokenizerFast

from hf_bpe import BPETokenizer, BPETokenizerFast

UPSTREAM = {"PreTrainedTokenizer": PreTrainedTokenizer, "PreTrainedTokenizerFast": PreTrainedTokenizerFast}
OURS = {"PreTrainedTokenizer": BPETokenizer, "PreTrainedTokenizerFast": BPETokenizerFast}
# Of Python, not of transformers.
OF_PYTHON = {"__doc__", "__module__", "__getstate__", "__setattr__", "__repr__", "__firstlineno__"}
OF_PYTHON |= {"__annotations__", "__dict__", "__weakref__", "__static_attributes__", "__annotate_func__"}
OF_PYTHON |= {"__init_subclass__", "__slotnames__"}  # of copy and pickle


def table(text):
    """Return class and name → parameters, of lines of which the indented ones continue the line before.

    A name without a class is one of both classes.
    """
    signatures = {}
    for line in text.replace("\n    ", " ").strip("\n").split("\n"):
        name, parameters = line.split(":", 1)
        names = [name] if "." in name else [f"PreTrainedTokenizer{suffix}.{name}" for suffix in ("", "Fast")]
        signatures |= dict.fromkeys(names, parameters.strip())
    return signatures


SIGNATURES = table("""
__call__: text=, text_pair=, text_target=, text_pair_target=, add_special_tokens=, padding=, truncation=, max_length=,
    stride=, is_split_into_words=, pad_to_multiple_of=, padding_side=, return_tensors=, return_token_type_ids=,
    return_attention_mask=, return_overflowing_tokens=, return_special_tokens_mask=, return_offsets_mapping=,
    return_length=, verbose=, tokenizer_kwargs=, **kwargs
_convert_token_to_id_with_added_voc: token
_decode: token_ids, skip_special_tokens=, clean_up_tokenization_spaces=, **kwargs
_eventual_warn_about_too_long_sequence: ids, max_length, verbose
_get_padding_truncation_strategies: padding=, truncation=, max_length=, pad_to_multiple_of=, verbose=, **kwargs
_pad: encoded_inputs, max_length=, padding_strategy=, pad_to_multiple_of=, padding_side=, return_attention_mask=
batch_decode: sequences, skip_special_tokens=, clean_up_tokenization_spaces=, **kwargs
encode: text, text_pair=, add_special_tokens=, padding=, truncation=, max_length=, stride=, padding_side=,
    return_tensors=, **kwargs
from_pretrained: pretrained_model_name_or_path, *init_inputs, cache_dir=, force_download=, local_files_only=, token=,
    revision=, trust_remote_code=, **kwargs
pad: encoded_inputs, padding=, max_length=, pad_to_multiple_of=, padding_side=, return_attention_mask=,
    return_tensors=, verbose=
PreTrainedTokenizer.__init__: **kwargs
PreTrainedTokenizer._encode_plus: text, text_pair=, add_special_tokens=, padding_strategy=, truncation_strategy=,
    max_length=, stride=, is_split_into_words=, pad_to_multiple_of=, padding_side=, return_tensors=,
    return_token_type_ids=, return_attention_mask=, return_overflowing_tokens=, return_special_tokens_mask=,
    return_length=, verbose=, **kwargs
PreTrainedTokenizer._from_pretrained: resolved_vocab_files, pretrained_model_name_or_path, init_configuration,
    *init_inputs, token=, cache_dir=, local_files_only=, _is_local=, trust_remote_code=, **kwargs
PreTrainedTokenizer.add_special_tokens: special_tokens_dict, replace_extra_special_tokens=
PreTrainedTokenizer.add_tokens: new_tokens, special_tokens=
PreTrainedTokenizer.all_special_ids: property
PreTrainedTokenizer.all_special_tokens: property
PreTrainedTokenizer.apply_chat_template: conversation, tools=, documents=, chat_template=, add_generation_prompt=,
    continue_final_message=, tokenize=, sanitize_control_tokens=, padding=, truncation=, max_length=, return_tensors=,
    return_dict=, return_assistant_tokens_mask=, tokenizer_kwargs=, **kwargs
PreTrainedTokenizer.clean_up_tokenization: text
PreTrainedTokenizer.convert_added_tokens: obj, save=, add_type_field=
PreTrainedTokenizer.convert_to_native_format: **kwargs
PreTrainedTokenizer.create_token_type_ids_from_sequences: token_ids_0, token_ids_1=
PreTrainedTokenizer.encode_message_with_chat_template: message, conversation_history=, **kwargs
PreTrainedTokenizer.get_chat_template: chat_template=, tools=
PreTrainedTokenizer.get_response_parser: response_template=, prefix=, tools=
PreTrainedTokenizer.num_special_tokens_to_add: pair=
PreTrainedTokenizer.parse_response: response, schema=, prefix=, tools=
PreTrainedTokenizer.prepare_for_model: ids, pair_ids=, add_special_tokens=, padding=, truncation=, max_length=,
    stride=, pad_to_multiple_of=, padding_side=, return_tensors=, return_token_type_ids=, return_attention_mask=,
    return_overflowing_tokens=, return_special_tokens_mask=, return_length=, verbose=, prepend_batch_axis=, **kwargs
PreTrainedTokenizer.save_chat_templates: save_directory, tokenizer_config, filename_prefix, save_jinja_files
PreTrainedTokenizer.save_pretrained: save_directory, legacy_format=, filename_prefix=, push_to_hub=, **kwargs
PreTrainedTokenizer.tokenize: text, **kwargs
PreTrainedTokenizer._set_model_specific_special_tokens: special_tokens
PreTrainedTokenizer.push_to_hub: repo_id, commit_message=, commit_description=, private=, token=, revision=,
    create_pr=, max_shard_size=, tags=
PreTrainedTokenizerFast._encode_plus: text, text_pair=, add_special_tokens=, padding_strategy=, truncation_strategy=,
    max_length=, stride=, is_split_into_words=, pad_to_multiple_of=, padding_side=, return_tensors=,
    return_token_type_ids=, return_attention_mask=, return_overflowing_tokens=, return_special_tokens_mask=,
    return_offsets_mapping=, return_length=, verbose=, split_special_tokens=, **kwargs
PreTrainedTokenizerFast._tokenizer: attribute
PreTrainedTokenizerFast.save_pretrained: save_directory, legacy_format=, filename_prefix=, push_to_hub=, save_format=,
    **kwargs
PreTrainedTokenizerFast.set_truncation_and_padding: padding_strategy, truncation_strategy, max_length, stride,
    pad_to_multiple_of, padding_side
PreTrainedTokenizerFast._convert_encoding: encoding, return_token_type_ids=, return_attention_mask=,
    return_overflowing_tokens=, return_special_tokens_mask=, return_offsets_mapping=, return_length=, verbose=
""")
"""What is called, or overridden with other parameters (`=`: it has a default) → its parameters in transformers 5.24."""

OLDER = table("""
PreTrainedTokenizer._from_pretrained: resolved_vocab_files, pretrained_model_name_or_path, init_configuration,
    *init_inputs, token=, cache_dir=, local_files_only=, _commit_hash=, _is_local=, trust_remote_code=, **kwargs
PreTrainedTokenizer.apply_chat_template: conversation, tools=, documents=, chat_template=, add_generation_prompt=,
    continue_final_message=, tokenize=, padding=, truncation=, max_length=, return_tensors=, return_dict=,
    return_assistant_tokens_mask=, tokenizer_kwargs=, **kwargs
PreTrainedTokenizer.clean_up_tokenization: absent
PreTrainedTokenizer.get_response_parser: absent
PreTrainedTokenizer.parse_response: response, schema=
PreTrainedTokenizerFast.save_pretrained: save_directory, legacy_format=, filename_prefix=, push_to_hub=, **kwargs
""")
"""The same in transformers 5.0; the second is so in 5.19, too."""


def plain(cls, name):
    """Return what a class has by a name, without what wraps it."""
    found = inspect.getattr_static(cls, name, "absent")
    function = getattr(found, "__func__", found)
    return inspect.unwrap(function) if callable(function) else found


def signature_of(found):
    """Return the parameters of a method, or what else it is, as the inventory has it."""
    if not callable(found):
        return "property" if isinstance(found, property) else "absent" if found == "absent" else "attribute"
    parameters = inspect.signature(found).parameters.values()
    return ", ".join(map(written, [each for each in parameters if each.name not in ("self", "cls")]))


def written(parameter):
    stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
    return f"{stars}{parameter.name}{'=' if parameter.default is not parameter.empty else ''}"


def overridden(name):
    """Return the names of a class of transformers that ours defines again."""
    classes = OURS[name].__mro__[: OURS[name].__mro__.index(UPSTREAM[name])]
    names = {each for cls in classes for each in vars(cls)} - OF_PYTHON
    return {f"{name}.{each}" for each in names if hasattr(UPSTREAM[name], each)}


def test_upstream_names_have_known_signatures():
    unknown = []
    for name in sorted({*SIGNATURES}.union(*map(overridden, OURS))):
        cls, _, method = name.partition(".")
        theirs, ours = plain(UPSTREAM[cls], method), plain(OURS[cls], method)
        known = SIGNATURES.get(name, None if ours is theirs else signature_of(ours))
        if signature_of(theirs) not in (known, OLDER.get(name)):
            unknown.append(f"{name} of the installed transformers:\n  {signature_of(theirs)}\nknown:\n  {known}")
    assert not unknown, "\n".join(unknown)


@pytest.mark.parametrize("name", OURS)
def test_all_that_direct_methods_look_at_is_in_the_inventory(name):
    looked_at = set()
    for hook in dir(UPSTREAM[name]):
        other = OURS[name] if hook.startswith("__") else type("Other", (OURS[name],), {hook: None})
        if not all(getattr(other, each) for each in dir(other) if each.startswith("_answers_")):
            looked_at.add(f"{name}.{hook}")
    assert len(looked_at) > 5
    assert looked_at <= {*SIGNATURES} | overridden(name)
