"""Lengths of time, and functions of numbers beyond the arithmetic of one type.

    durations  Lengths of time, in microseconds
    numbers    Buckets, bits, and digits before the point

The words are explained in docs/glossary.md.
"""
