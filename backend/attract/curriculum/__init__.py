"""What hangs on episodes and steps: lessons, parameter randomisation, callbacks. Does no I/O."""
