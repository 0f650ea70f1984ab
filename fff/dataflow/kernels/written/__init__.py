"""What is written in texts: moments by patterns, bytes by character sets, JSON, numbers by formats.

    clock_patterns  Patterns of dates and moments
    codes           Texts and bytes
    doubles         Floats and doubles as texts
    json_paths      Paths into JSON
    json_texts      JSON
    marks           Masks, checks, quotes, choices, case
    moments         Moments read and written by patterns, made of parts, moved and set apart by units
    printed         format_string
    scanned         Regular expressions

The words are explained in docs/glossary.md.
"""
