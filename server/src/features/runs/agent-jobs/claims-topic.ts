/** The signal that ends the claims of an agent which wait, on every replica: the agent asks again if it is there. */
export function claimsTopic(agentId: string) {
  return `agent-claims:${agentId}`
}
