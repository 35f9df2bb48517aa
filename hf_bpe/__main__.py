"""`python -m hf_bpe`: the command line, where its script `hf-bpe` is not on the path."""

from hf_bpe.cli import main

if __name__ == "__main__":  # new interpreters of worker processes also import this file
    main()
