"""What searches for optimal motions need of the engine: second derivatives, and backward passes over nodes."""
