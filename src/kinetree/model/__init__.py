"""The data of a mechanism (bodies, joints, frames), and how to describe, read and write it. No dynamics."""
