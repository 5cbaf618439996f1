import { reaction } from '../../../events/reaction.ts'
import { agentGone } from '../../agents/agents/events.ts'
import { endClaims } from './waiting-claims.ts'

export const agentJobReactions = [reaction(agentGone, async (ctx, { agentId }) => endClaims(ctx, agentId))]
