"""Features that the installed transformers may be too old for; their tests are skipped, saying so."""

import inspect

import pytest
import transformers
from packaging.version import Version
from transformers import PreTrainedTokenizerBase
from transformers.models.auto import tokenization_auto


def skip_without(feature, is_there):
    """Return the mark of a test of a feature."""
    return pytest.mark.skipif(not is_there, reason=f"transformers {transformers.__version__} has no {feature}")


HAS_SANITIZING = "sanitize_control_tokens" in inspect.signature(PreTrainedTokenizerBase.apply_chat_template).parameters
needs_sanitizing = skip_without("sanitize_control_tokens", HAS_SANITIZING)


def needs_class_of_its_own(model_type):
    """Mark a test of a config.json for which AutoTokenizer does not load the class that the tokenizer names."""
    types = getattr(tokenization_auto, "MODELS_WITH_INCORRECT_HUB_TOKENIZER_CLASS", ())
    return skip_without(f"tokenizer class of its own for {model_type}", model_type in types)


# Before 5.7 AutoTokenizer loads a fast tokenizer, not a registered class, next to the config.json of a known model.
KEEPS_REGISTERED_CLASSES = Version(transformers.__version__) >= Version("5.7")

# transformers 5.0 merges the settings of a folder by other rules, and saves a key more.
HAS_FOLDERS_OF_THE_NEWEST = Version(transformers.__version__) >= Version("5.19")
