import type { AgentJob } from '@groundstate/contract/agent'
import { createClaims } from '../../../claims/claims.ts'
import { poolTopic } from '../runs/pool-topic.ts'
import { listPreferredAgents, poolsWithJobs, type Wish } from './claim-store.ts'
import { claimJob } from './claim.ts'
import { handBackJob } from './release.ts'

const claims = createClaims<Wish, AgentJob>({
  items: 'jobs',
  topic: poolTopic,
  poolsWithItems: (_, poolIds) => poolsWithJobs(poolIds),
  claim: claimJob,
  handBack: handBackJob,
  kindOf: ({ accepts, agent }) =>
    [...accepts.toSorted(), agent.downloads_engines, JSON.stringify(agent.engines)].join(' '),
  listPreferredAgents: async ({ db }, poolId, agentIds) => listPreferredAgents(db, poolId, agentIds),
})

/** Waits for the next job for an agent, as claims do. */
export const waitForJob = claims.wait

/** Answers the waiting claims of an agent that takes no more jobs. */
export const endClaims = claims.end
