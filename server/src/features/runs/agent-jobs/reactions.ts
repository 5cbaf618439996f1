import { reaction } from '../../../events/reaction.ts'
import { poolLimitChanged } from '../../agents/agent-pools/events.ts'
import { agentGone } from '../../agents/agents/events.ts'
import { poolTopic } from '../runs/pool-topic.ts'
import { endClaims } from './wait-for-job.ts'

export const agentJobReactions = [
  reaction(agentGone, async (ctx, { agentId }) => endClaims(ctx, agentId)),
  // The limit may have held jobs back.
  reaction(poolLimitChanged, async (ctx, { poolId }) => ctx.signals.publish(ctx.db, poolTopic(poolId))),
]
