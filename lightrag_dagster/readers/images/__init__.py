"""Readers of images, and the figures of other documents."""
