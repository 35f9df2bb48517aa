#!/usr/bin/env bash
# What takes too long for every change: thorough tests, every Python and transformers, the Python engine, sanitizers and
# fuzzing. Takes about an hour on two cores. HF_BPE_TEST_DATA names the folder of the test data.
#
# STAGES="thorough native_whole" tools/check_all.sh runs some stages only.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=tools/stages.sh
. tools/stages.sh

install_tools
use_ccache
for each in lint readme thorough docs_and_types all_pythons transformers_versions_whole without_compiler_whole \
  lowest_versions native_whole bindings_whole; do
  run_stage "$each"
done
