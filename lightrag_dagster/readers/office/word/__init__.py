"""Parts of Word files that mammoth does not read, put into their XML before it reads them."""
