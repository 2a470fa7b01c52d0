"""Central inference's own process: the policy at the server, for devices that it would be too heavy for."""
