"""The sandbox service: commands, jobs and files in a sandbox for each session."""
