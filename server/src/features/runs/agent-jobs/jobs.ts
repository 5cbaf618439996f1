import { reaction } from '../../../handlers.ts'
import { poolLimitChanged } from '../../agents/agent-pools/service.ts'
import { agentRemoved } from '../../agents/agents/announce.ts'
import { organizationDeleting } from '../../organizations/organizations/access.ts'
import { poolTopic } from '../runs/queued-job-store.ts'
import { endClaims } from './claim.ts'
import { abandonJobs } from './service.ts'

export const agentJobReactions = [
  reaction(organizationDeleting, abandonJobs),
  reaction(agentRemoved, async (ctx, { agentId }) => endClaims(ctx, agentId)),
  // The limit may have held jobs back.
  reaction(poolLimitChanged, async (ctx, { poolId }) => ctx.signals.publish(ctx.db, poolTopic(poolId))),
]
