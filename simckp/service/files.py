"""The text of a file that a visitor drops on the page."""

from io import BytesIO

from simckp.errors import SimCKPError
from simckp.service.messages import LONGEST_TEXT

_MOST_PAGES = 300


def pdf_text(content: bytes) -> str:
    """Return the text of a PDF file: at most 300 pages, and as many characters as a request may have.

    Raises:
        SimCKPError: It is no PDF file, needs a password, or has no text (a scan has pictures of its pages).
    """
    from pypdf import PdfReader
    from pypdf.errors import PyPdfError

    try:
        reader = PdfReader(BytesIO(content))
        pages = [page.extract_text() for page in reader.pages[:_MOST_PAGES]]
    except (PyPdfError, ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError) as error:
        raise SimCKPError(
            f"no PDF file that can be read: {str(error).splitlines()[0] if str(error) else 'damaged'}"
        ) from error
    text = "\n".join(pages).strip()
    if not text:
        raise SimCKPError("there is no text in this PDF file; is it a scan?")
    # Unpaired surrogates, which some fonts give, cannot be sent.
    return text.encode("utf-8", "replace").decode("utf-8")[:LONGEST_TEXT]
