"""Lengths of time, and functions of numbers beyond the arithmetic of one type.

    durations  Lengths of time, in microseconds
    exponents  Exponentials and logarithms
    numbers    Buckets, bits, and digits before the point
    powers     Powers of doubles
    wide       Decimals of many digits

The words are explained in docs/glossary.md.
"""
