"""Decides which blocks and which identities count, through three doors: `admit`, `sample` and `verdict`.

`admit` refuses numbers that the game declares impossible. `sample` has the admin's own workers replay a share
of what guests played, and compares (rule C10). `verdict` says what follows for an identity: a pause, a ban.
The learner recomputes log-probabilities and values, since that needs the networks (rule C7,
`attract.learner.verification`).

Blocks are not checked against earlier ones (step numbers, returns, lengths) on arrival: a forger keeps such
numbers consistent, and faults of our own code show in the replay and in the SDK's own tests.
"""
