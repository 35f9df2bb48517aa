#!/usr/bin/env bash
# What takes too long for every change, in addition to .ci/run: thorough tests, the quick ones on every Python and
# transformers, ThreadSanitizer, fuzzing and engines. HF_BPE_TEST_DATA names the test data.
#
# STAGES="thorough native_long" tools/check_all.sh runs some of the stages.
set -euo pipefail
cd "$(dirname "$0")/.."
COMPLETE=1 MINUTES=120 exec tools/run_stages.sh thorough other_pythons transformers_versions_whole native_long \
  bindings_long engines elsewhere_variations
