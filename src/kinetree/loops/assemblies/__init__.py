"""Every way to assemble a mechanism: found from many starts, and for planar ones proven to be all."""
