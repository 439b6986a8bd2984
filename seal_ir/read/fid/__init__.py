"""Fusion-in-Decoder (Izacard and Grave 2021): passages are encoded one by one and decoded together."""
