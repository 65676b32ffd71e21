"""Shared by the drivers for GPUs: graphs on the device, memory, launches, their timing, and the proof of a forest."""
