/** The part of an agent that a claim needs. */
export type ClaimingAgent = { id: string; name: string; agent_pool_id: string }
