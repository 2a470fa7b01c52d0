/** What loading or playing a policy can fail with. */

/** A policy that cannot be loaded, or was given what it does not take; the message says what would be right. */
export class AgentError extends Error {
  override readonly name = "AgentError";
}
