import { reaction } from '../../../events/reaction.ts'
import { poolLimitChanged } from '../../agents/agent-pools/events.ts'
import { agentGone } from '../../agents/agents/events.ts'
import { organizationDeleting } from '../../organizations/organizations/events.ts'
import { poolTopic } from '../runs/pool-topic.ts'
import { abandonJobs } from './abandon.ts'
import { endClaims } from './wait-for-job.ts'

export const agentJobReactions = [
  reaction(organizationDeleting, abandonJobs),
  reaction(agentGone, async (ctx, { agentId }) => endClaims(ctx, agentId)),
  // The limit may have held jobs back.
  reaction(poolLimitChanged, async (ctx, { poolId }) => ctx.signals.publish(ctx.db, poolTopic(poolId))),
]
