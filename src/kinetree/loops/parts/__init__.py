"""What is known about a mechanism's loops, one subject per file, each building on those before it.

geometry (gaps, K, drift) < assembling (searching closed configurations) < choice (independent coordinates, what is
closed) < closing (close, project, follow) < prepared (fixed sequences of operations) < inverse, forward < derivatives.
"""
