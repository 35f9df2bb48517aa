"""The names of transformers that hf_bpe overrides or calls, with their signatures.

A parameter with a default has a `=`. What older versions of transformers have is in OLDER. Where a new version differs,
`tests/tokenizer/test_upstream_inventory.py` shows how: look at what changed, follow it, and correct the line here.
"""


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
_convert_id_to_token: index
_convert_token_to_id_with_added_voc: token
_decode: token_ids, skip_special_tokens=, clean_up_tokenization_spaces=, **kwargs
_eventual_warn_about_too_long_sequence: ids, max_length, verbose
_get_padding_truncation_strategies: padding=, truncation=, max_length=, pad_to_multiple_of=, verbose=, **kwargs
_pad: encoded_inputs, max_length=, padding_strategy=, pad_to_multiple_of=, padding_side=, return_attention_mask=
added_tokens_decoder: property
batch_decode: sequences, skip_special_tokens=, clean_up_tokenization_spaces=, **kwargs
convert_ids_to_tokens: ids, skip_special_tokens=
convert_tokens_to_ids: tokens
decode: token_ids, skip_special_tokens=, **kwargs
encode: text, text_pair=, add_special_tokens=, padding=, truncation=, max_length=, stride=, padding_side=,
    return_tensors=, **kwargs
from_pretrained: pretrained_model_name_or_path, *init_inputs, cache_dir=, force_download=, local_files_only=, token=,
    revision=, trust_remote_code=, **kwargs
get_vocab:
pad: encoded_inputs, padding=, max_length=, pad_to_multiple_of=, padding_side=, return_attention_mask=,
    return_tensors=, verbose=
vocab_size: property
PreTrainedTokenizer.__getattr__: key
PreTrainedTokenizer.__init__: **kwargs
PreTrainedTokenizer._add_tokens: new_tokens, special_tokens=
PreTrainedTokenizer._convert_token_to_id: token
PreTrainedTokenizer._encode_plus: text, text_pair=, add_special_tokens=, padding_strategy=, truncation_strategy=,
    max_length=, stride=, is_split_into_words=, pad_to_multiple_of=, padding_side=, return_tensors=,
    return_token_type_ids=, return_attention_mask=, return_overflowing_tokens=, return_special_tokens_mask=,
    return_length=, verbose=, **kwargs
PreTrainedTokenizer._encode_without_added_tokens: text
PreTrainedTokenizer._from_pretrained: resolved_vocab_files, pretrained_model_name_or_path, init_configuration,
    *init_inputs, token=, cache_dir=, local_files_only=, _is_local=, trust_remote_code=, **kwargs
PreTrainedTokenizer._tokenize: text, **kwargs
PreTrainedTokenizer._update_total_vocab_size:
PreTrainedTokenizer._update_trie: unique_no_split_tokens=
PreTrainedTokenizer.add_special_tokens: special_tokens_dict, replace_extra_special_tokens=
PreTrainedTokenizer.add_tokens: new_tokens, special_tokens=
PreTrainedTokenizer.all_special_ids: property
PreTrainedTokenizer.all_special_tokens: property
PreTrainedTokenizer.apply_chat_template: conversation, tools=, documents=, chat_template=, add_generation_prompt=,
    continue_final_message=, tokenize=, sanitize_control_tokens=, padding=, truncation=, max_length=, return_tensors=,
    return_dict=, return_assistant_tokens_mask=, tokenizer_kwargs=, **kwargs
PreTrainedTokenizer.build_inputs_with_special_tokens: token_ids_0, token_ids_1=
PreTrainedTokenizer.clean_up_tokenization: text
PreTrainedTokenizer.convert_added_tokens: obj, save=, add_type_field=
PreTrainedTokenizer.convert_to_native_format: **kwargs
PreTrainedTokenizer.convert_tokens_to_string: tokens
PreTrainedTokenizer.create_token_type_ids_from_sequences: token_ids_0, token_ids_1=
PreTrainedTokenizer.encode_message_with_chat_template: message, conversation_history=, **kwargs
PreTrainedTokenizer.get_chat_template: chat_template=, tools=
PreTrainedTokenizer.get_response_parser: response_template=, prefix=, tools=
PreTrainedTokenizer.get_special_tokens_mask: token_ids_0, token_ids_1=, already_has_special_tokens=
PreTrainedTokenizer.is_fast: property
PreTrainedTokenizer.model_input_names: attribute
PreTrainedTokenizer.num_special_tokens_to_add: pair=
PreTrainedTokenizer.parse_response: response, schema=, prefix=, tools=
PreTrainedTokenizer.prepare_for_model: ids, pair_ids=, add_special_tokens=, padding=, truncation=, max_length=,
    stride=, pad_to_multiple_of=, padding_side=, return_tensors=, return_token_type_ids=, return_attention_mask=,
    return_overflowing_tokens=, return_special_tokens_mask=, return_length=, verbose=, prepend_batch_axis=, **kwargs
PreTrainedTokenizer.prepare_for_tokenization: text, is_split_into_words=, **kwargs
PreTrainedTokenizer.register_for_auto_class: auto_class=
PreTrainedTokenizer.save_chat_templates: save_directory, tokenizer_config, filename_prefix, save_jinja_files
PreTrainedTokenizer.save_pretrained: save_directory, legacy_format=, filename_prefix=, push_to_hub=, **kwargs
PreTrainedTokenizer.save_vocabulary: save_directory, filename_prefix=
PreTrainedTokenizer.tokenize: text, **kwargs
PreTrainedTokenizer.truncate_sequences: ids, pair_ids=, num_tokens_to_remove=, truncation_strategy=, stride=
PreTrainedTokenizer.vocab_files_names: attribute
PreTrainedTokenizer._set_model_specific_special_tokens: special_tokens
PreTrainedTokenizer.push_to_hub: repo_id, commit_message=, commit_description=, private=, token=, revision=,
    create_pr=, max_shard_size=, tags=
PreTrainedTokenizerFast.__len__:
PreTrainedTokenizerFast._encode_plus: text, text_pair=, add_special_tokens=, padding_strategy=, truncation_strategy=,
    max_length=, stride=, is_split_into_words=, pad_to_multiple_of=, padding_side=, return_tensors=,
    return_token_type_ids=, return_attention_mask=, return_overflowing_tokens=, return_special_tokens_mask=,
    return_offsets_mapping=, return_length=, verbose=, split_special_tokens=, **kwargs
PreTrainedTokenizerFast._tokenizer: attribute
PreTrainedTokenizerFast.save_pretrained: save_directory, legacy_format=, filename_prefix=, push_to_hub=, save_format=,
    **kwargs
PreTrainedTokenizerFast.set_truncation_and_padding: padding_strategy, truncation_strategy, max_length, stride,
    pad_to_multiple_of, padding_side
PreTrainedTokenizerFast.tokenize: text, pair=, add_special_tokens=, **kwargs
PreTrainedTokenizerFast._convert_encoding: encoding, return_token_type_ids=, return_attention_mask=,
    return_overflowing_tokens=, return_special_tokens_mask=, return_offsets_mapping=, return_length=, verbose=
""")
"""Class and name → parameters, or "property", "attribute" or "absent", in transformers 5.24."""

OLDER = table("""
PreTrainedTokenizer._encode_without_added_tokens: absent
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
"""The same in transformers 5.0; the first and the third are so in 5.19, too."""
