"""Every setting, its default, limits and help; files, variables and presets that give them."""
