"""Write the sample files with formulas by pandoc and LibreOffice: as make.py, with libreoffice-math-nogui as well."""

from pathlib import Path

from make import HERE, office, pandoc

FORMULAS = r"""The discharge is $Q = \frac{2}{3} C_d b \sqrt{2g}\, h^{3/2}$ where $h \le h_{max}$ is the head.

$$\bar{Q} = \frac{1}{n}\sum_{i=1}^{n} Q_i, \quad A = \begin{pmatrix} a & b \\ c & d \end{pmatrix}, x \in \{1, 2\}$$

The gauge was calibrated in spring.
"""


def write(folder: Path) -> None:
    """Write formulas as OMML (Word, PowerPoint) and MathML (OpenDocument, books, pages)."""
    for suffix in ("docx", "odt", "epub", "pptx"):
        pandoc(FORMULAS, folder / f"pandoc.{suffix}", "--metadata=title:Discharge")
    pandoc(FORMULAS, folder / "pandoc.html", "--mathml", "--metadata=title:Discharge")
    office(folder / "pandoc.odt", folder / "libreoffice.docx")
    office(folder / "pandoc.docx", folder / "libreoffice.odt")


if __name__ == "__main__":
    write(HERE / "formulas")
