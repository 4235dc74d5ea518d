"""`pi`, the agent loop: call the model, run the tools it asks for, again."""
