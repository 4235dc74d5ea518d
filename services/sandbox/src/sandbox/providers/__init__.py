"""Where sandboxes come from, one module each: imported only when it is chosen."""
