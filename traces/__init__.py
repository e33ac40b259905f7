"""Adapters in: generators and importers of lookup traces, one a file."""
