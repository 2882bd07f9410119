"""Measuring from inside the kernel, by the Linux module of integrations/linux-module."""
