"""The live view: a recording that grows or is finished, on a whole terminal (Textual)."""
