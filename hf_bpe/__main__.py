"""`python -m hf_bpe`: the command line, where its script `hf-bpe` is not on the path."""

from hf_bpe.cli import main

if __name__ == "__main__":  # processes that are started anew for counting import this file, too
    main()
