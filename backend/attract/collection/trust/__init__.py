"""Decides which blocks and which identities count, through three doors: `admit`, `sample` and `verdict`.

`admit` refuses numbers that the game declares impossible. `sample` has the admin's own workers replay a share
of what guests played, and compares (rule C10). `verdict` says what follows for an identity: a pause, a ban.
The learner recomputes log-probabilities and values, since that needs the networks (rule C7,
`attract.learner.verification`).

Whether a block agrees with the one before it (step numbers, returns, lengths) is not looked at on arrival: a
forger keeps those right, and the contract tests hold our own workers to them.
"""
