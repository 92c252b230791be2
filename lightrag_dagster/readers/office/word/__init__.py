"""What mammoth does not read in Word files, put into their XML before it reads them."""
