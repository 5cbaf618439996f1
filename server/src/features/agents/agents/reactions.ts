import { reaction } from '../../../events/reaction.ts'
import { tokenDeleted } from '../../identity/tokens/events.ts'
import { endAgentSessions } from './end-sessions.ts'

export const agentReactions = [reaction(tokenDeleted, async (ctx, { tokenId }) => endAgentSessions(ctx, [tokenId]))]
