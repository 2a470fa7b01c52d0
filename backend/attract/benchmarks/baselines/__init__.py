"""What a user would train with instead of Attract: processes that read an order and print their marks."""
