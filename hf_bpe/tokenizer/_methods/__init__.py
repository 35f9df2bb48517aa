"""The methods of BPETokenizer, in classes of one idea each that it inherits from."""
