"""Decides which blocks and which identities count, through three doors: `admit`, `sample` and `verdict`.

`admit` refuses a guest's block that its game cannot have produced. `sample` has the admin's own workers
replay a share of what guests played, and compares (rule C10). `verdict` says what follows for an identity: a
pause, a ban, probation. The learner recomputes log-probabilities and values, since that needs the networks
(rule C7, `attract.learner.verification`).

`admit` stays beside the replay because it catches what a replay does not. A replay runs the same worker code
and the same game, so a fault of our own workers agrees with itself: a return that is not the sum of its
rewards, an episode longer than its time limit, a step counted twice. A replay covers single segments of a
share of all play, and none where the game cannot be replayed, the server decides, or no worker of the admin's
own is connected. `admit` sees every training block of every guest, in order, before it counts.
"""
