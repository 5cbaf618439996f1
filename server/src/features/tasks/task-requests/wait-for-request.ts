import type { TaskRequest } from '@groundstate/contract/agent'
import { createClaims } from '../../../claims/claims.ts'
import { claimTaskRequest } from './claim.ts'
import type { ClaimingAgent } from './claiming-agent.ts'
import { releaseTaskRequest } from './release.ts'
import { poolsWithRequests } from './store.ts'
import { queueTopic } from './topics.ts'

const claims = createClaims<{ agent: ClaimingAgent }, TaskRequest>({
  items: 'requests',
  topic: queueTopic,
  poolsWithItems: ({ now }, poolIds) => poolsWithRequests(poolIds, now()),
  claim: async (ctx, { agent }) => claimTaskRequest(ctx, agent),
  handBack: async (ctx, { id }, { agent }) => releaseTaskRequest(ctx, agent, id),
  // Every agent that asks takes every request of its pool.
  kindOf: () => '',
  listPreferredAgents: async () => [],
})

/** Waits for the next request for an agent, as claims do. */
export const waitForTaskRequest = claims.wait

/** Answers the waiting claims of an agent that takes no more requests. */
export const endTaskClaims = claims.end
