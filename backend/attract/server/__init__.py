"""The gateway: moves frames, checks who you are, keeps the run; decides nothing about training."""
