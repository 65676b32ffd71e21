"""The papers' tables and figures, each under its own number, as printed and as measured."""
