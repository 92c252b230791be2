"""Removes what an earlier build left, since setuptools would put it into the wheel; all else is in pyproject.toml."""

import shutil

import setuptools

shutil.rmtree("build/lib", ignore_errors=True)
setuptools.setup()
