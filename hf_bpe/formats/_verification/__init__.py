"""Verification: does a file give the same ids as the tokenizer that it was written from?"""
