"""The slot page in Debian's Chromium, with made-up groups behind it."""
