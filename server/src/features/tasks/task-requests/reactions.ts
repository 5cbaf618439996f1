import { reaction } from '../../../events/reaction.ts'
import { agentGone } from '../../agents/agents/events.ts'
import { endTaskClaims } from './wait-for-request.ts'

export const taskRequestReactions = [reaction(agentGone, async (ctx, { agentId }) => endTaskClaims(ctx, agentId))]
