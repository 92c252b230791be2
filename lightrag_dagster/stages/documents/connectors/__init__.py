"""Where documents come from: each kind of place lists them and reads one."""
