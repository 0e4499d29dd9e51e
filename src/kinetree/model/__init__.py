"""What a mechanism is: bodies, joints, frames; how to describe, read and write one. No dynamics."""
