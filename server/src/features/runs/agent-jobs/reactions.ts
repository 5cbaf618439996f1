import { reaction } from '../../../events/reaction.ts'
import { agentGone } from '../../agents/agents/events.ts'
import { endClaims } from './wait-for-job.ts'

export const agentJobReactions = [reaction(agentGone, async (ctx, { agentId }) => endClaims(ctx, agentId))]
