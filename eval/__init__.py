"""How far a policy got: metrics, calibration, and the When2Call protocols."""
