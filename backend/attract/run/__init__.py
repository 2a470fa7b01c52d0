"""One training run from its start to its end; it knows neither HTTP nor websockets."""
