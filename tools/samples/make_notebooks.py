"""Write the sample notebooks, by jupytext, nbformat and pandoc; nbclient runs two of them.

pip install jupytext nbformat nbclient ipykernel pypandoc_binary
python tools/samples/make_notebooks.py tests/readers/samples
"""

import sys
from copy import deepcopy
from pathlib import Path

import jupytext
import nbformat
import pypandoc
from nbclient import NotebookClient

STORY = """---
title: Gauge survey
---

# Gauge survey

The *Kingfisher* gauge at **Lerchbruck** was cleaned in spring. 水位

```python
levels = {"Steinhag": 1.42, "Corley": 0.97}
print("lowest", min(levels, key=levels.get))
levels
```

## Überlauf
"""


def main(folder: Path) -> None:
    """Write five notebooks into a folder."""
    cells = jupytext.reads(STORY, "md")
    cells.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    jupytext.write(cells, folder / "jupytext.ipynb")
    pypandoc.convert_text(STORY, "ipynb", "md", outputfile=str(folder / "pandoc.ipynb"))
    NotebookClient(cells).execute()
    nbformat.write(cells, folder / "nbformat.ipynb")
    nbformat.write(nbformat.convert(deepcopy(cells), 3), folder / "nbformat-3.ipynb")
    cells.cells[2].source = "1 / 0"
    NotebookClient(cells, allow_errors=True).execute()
    jupytext.write(cells, folder / "jupytext-error.ipynb")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
