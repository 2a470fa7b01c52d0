"""Learning from what others played: demonstrations as data, and the loss that imitates them."""
