"""`python -m tests.catalog` writes what `pages.py` makes of the bundled specs."""

from tests.catalog.pages import made

if __name__ == "__main__":
    for path, text in made().items():
        path.write_text(text, encoding="utf-8")
