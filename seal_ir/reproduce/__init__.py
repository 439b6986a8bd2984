"""Tables as data (eval/*.toml): planned, made, measured, compared with what was recorded, printed."""
