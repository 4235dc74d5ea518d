"""Property tests are bounded by their number of examples, never by time."""

from hypothesis import settings

settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
