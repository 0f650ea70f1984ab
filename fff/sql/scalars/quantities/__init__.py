"""Lengths of time, and functions of numbers that have rules of their own.

intervals  INTERVAL, and what is computed with such lengths
numbers    Buckets, bits, rounding to tens

The words are explained in docs/glossary.md.
"""
