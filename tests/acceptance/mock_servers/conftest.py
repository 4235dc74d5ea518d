"""`make test-mock-llm` installs aimock with npm and asks for its tests; nothing else does."""

import os

collect_ignore = [] if os.environ.get("BRAIN_TEST_MOCK_LLM") == "1" else ["test_aimock.py"]
